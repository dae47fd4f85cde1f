"""A board's side of what boards say to each other, made from docs/wire-ledger.md: it has a certificate, announces its
key, seals packets and opens those of others. It shares no code with laird."""

import base64
import hashlib
import hmac
import re
import struct
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, x25519
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from harness import FLEET, TOP, wait_until

LEDGER, MODEL, KEY, PLAIN = 0x20, 0x21, 0x22, 0x08
TAG_BYTES, KEY_BYTES = 8, 32
COOP = re.compile(re.escape(TOP) + r"node/([^/]+)/coop/([^/]+)$")


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def take_varint(data):
    """The number, and what is behind it."""
    value = 0
    for at, byte in enumerate(data[:9]):
        value |= (byte & 0x7F) << 7 * at
        if byte < 0x80:
            return value, data[at + 1:]
    raise ValueError("no number")


def frames(*messages):
    """The body of a ledger packet."""
    return b"".join(varint(len(m)) + m for m in messages)


def raw(public):
    return public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


class Pair:
    """What one board knows of another: the keys of both directions."""

    def __init__(self, start, key, outward, inward):
        self.start, self.key, self.outward, self.inward = start, key, outward, inward
        self.sent = 0


class Peer:
    """The secrets of one start of one board."""

    def __init__(self, pki, node, start=None, fleet=FLEET):
        files = pki.files(node)
        with open(files["key"], "rb") as f:
            self.signer = serialization.load_pem_private_key(f.read(), None)
        with open(files["cert"], "rb") as f:
            self.certificate = x509.load_pem_x509_certificate(f.read()).public_bytes(
                serialization.Encoding.DER)
        self.fleet, self.node = fleet, node
        self.start = start or int(time.time() * 1000)
        self.secret = x25519.X25519PrivateKey.generate()
        self.public = raw(self.secret.public_key())
        self.pairs = {}

    def announcement(self, node=None):
        text = b"laird-key-v1\n%s\n%s\n%d\n" % (
            self.fleet.encode(), (node or self.node).encode(), self.start) + self.public
        signature = self.signer.sign(text, ec.ECDSA(hashes.SHA256()))
        return (bytes([KEY]) + varint(self.start) + self.public +
                struct.pack("<H", len(self.certificate)) + self.certificate + signature)

    def hear_key(self, sender, payload):
        """Takes what another announced. It trusts the test that the other is who it says."""
        start, rest = take_varint(payload[1:])
        key = rest[:KEY_BYTES]
        known = self.pairs.get(sender)
        if known and known.start >= start:
            return
        secret = self.secret.exchange(x25519.X25519PublicKey.from_public_bytes(key))
        own = (self.node, self.start, self.public)
        other = (sender, start, key)
        self.pairs[sender] = Pair(start, key, self.derive(secret, own, other),
                                  self.derive(secret, other, own))

    def derive(self, secret, source, target):
        info = b"".join(bytes([len(t)]) + t.encode() for t in (self.fleet, source[0], target[0]))
        info += struct.pack("<QQ", source[1], target[1]) + source[2] + target[2]
        return HKDF(hashes.SHA256(), 32, b"laird-coop-v2", info).derive(secret)

    @staticmethod
    def tag(key, covered):
        return hmac.new(key, covered, hashlib.sha256).digest()[:TAG_BYTES]

    def seal(self, to, body, kind=LEDGER, number=None):
        pair = self.pairs[to]
        if number is None:
            pair.sent += 1
            number = pair.sent
        covered = bytes([kind]) + varint(number) + body
        return covered + self.tag(pair.outward, covered)

    def open(self, sender, payload):
        """The number and the body of a sealed packet, or ValueError."""
        covered, tag = payload[:-TAG_BYTES], payload[-TAG_BYTES:]
        if not hmac.compare_digest(self.tag(self.pairs[sender].inward, covered), tag):
            raise ValueError("the tag is wrong")
        return take_varint(covered[1:])


class SpeakingPeer(Peer):
    """A peer at the broker, by a client of harness.py under the board's own name."""

    def __init__(self, test, node, client=None, **more):
        super().__init__(test.pki, node, **more)
        self.client = client or test.up(node, subscriptions=[TOP + "node/+/coop/" + node])

    def send(self, to, payload, sender=None):
        self.client.publish(TOP + "node/%s/coop/%s" % (sender or self.node, to), None, kind="peer",
                            payload64=base64.b64encode(payload).decode())

    def say(self, to, *messages):
        self.send(to, self.seal(to, frames(*messages)))

    def listen(self):
        """(from, payload) of all that came since; keys are taken."""
        out = []
        while not self.client.lines.empty():
            event = self.client.lines.get()
            found = COOP.match(event.get("topic", "")) if event else None
            if not found:
                self.client.unclaimed.append(event)
                continue
            payload = base64.b64decode(event["payload64"])
            out.append((found[1], payload))
            if payload[:1] == bytes([KEY]):
                self.hear_key(found[1], payload)
        return out

    def meet(self, *boards, seconds=20):
        """Exchanges keys with these."""
        def know_all():
            for board in boards:
                if board not in self.pairs:
                    self.send(board, self.announcement())
            self.listen()
            return all(board in self.pairs for board in boards)
        assert wait_until(know_all, seconds, every=1.1), sorted(self.pairs)
        return self
