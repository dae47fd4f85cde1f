"""Debian's chromium, driven over its debugging pipe: pages at a width and in a colour scheme, their
errors, what a script in them says, pictures of them, and a pointer."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def path():
    return shutil.which("chromium")


class Browser:
    """Use as a context manager. One page at a time."""

    own = None  # a page that is served may load what is below its own address

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="laird-browser-")
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()
        self.log = open(os.path.join(self.profile, "log"), "wb")

        def become():
            # The browser reads commands from descriptor 3 and answers on 4.
            spare = [os.dup(to_read), os.dup(from_write)]
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)
        self.process = subprocess.Popen(
            [path(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--remote-debugging-pipe",
             f"--user-data-dir={self.profile}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            pass_fds=(3, 4), preexec_fn=become)
        os.close(to_read)
        os.close(from_write)
        self.count = 0
        self.held = b""
        self.heard = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")
        self.ask("Page.setLifecycleEventsEnabled", enabled=True)
        return self

    session = None

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to_write)
        os.close(self.from_read)
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def listen(self, timeout):
        """The next message, or None."""
        until = time.monotonic() + timeout
        while b"\0" not in self.held:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.from_read], [], [], left)[0]:
                return None
            part = os.read(self.from_read, 1 << 20)
            if not part:
                raise AssertionError("the browser ended")
            self.held += part
        line, self.held = self.held.split(b"\0", 1)
        return json.loads(line)

    def ask(self, method, timeout=60, **params):
        self.count += 1
        number = self.count
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + timeout
        while True:
            answer = self.listen(max(0.0, until - time.monotonic()))
            if answer is None:
                raise AssertionError(f"no answer to {method}")
            if answer.get("id") == number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self.heard.append(answer)

    def open(self, file, width, height=900, scheme="light", scripts=True):
        self.heard = []
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        url = file if file.startswith("http://") else "file://" + os.path.abspath(file)
        self.own = url.split("#")[0] if url.startswith("http://") else None
        self.navigate("about:blank")
        self.heard = []
        self.navigate(url)
        if scripts:
            self.settle()

    def navigate(self, url):
        """Until that very document is loaded; the load of the one before may be told late."""
        loader = self.ask("Page.navigate", url=url)["loaderId"]

        def loaded(message):
            params = message.get("params", {})
            return (message.get("method") == "Page.lifecycleEvent" and params["name"] == "load" and
                    params["loaderId"] == loader)
        until = time.monotonic() + 60
        while not any(loaded(m) for m in self.heard):
            message = self.listen(max(0.0, until - time.monotonic()))
            if message is None:
                raise AssertionError("the page did not load")
            self.heard.append(message)

    def settle(self):
        """Until what was asked for is drawn."""
        self.ask("Runtime.evaluate", awaitPromise=True, expression=
                 "new Promise(r=>requestAnimationFrame(()=>requestAnimationFrame(r)))")

    def says(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait_for(self, expression, seconds=20):
        """Until it is true in the page; its value."""
        until = time.monotonic() + seconds
        while True:
            value = self.says(expression)
            if value or time.monotonic() > until:
                return value
            time.sleep(0.05)

    def errors(self):
        """What the page complained of, and what it tried to load beside itself."""
        out = []
        for m in self.heard:
            method, params = m.get("method"), m.get("params", {})
            if method == "Runtime.exceptionThrown":
                out.append(str(params["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
                out.append(str(params["args"]))
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                out.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                url = params["request"]["url"]
                own = self.own and url.startswith(self.own)
                if params.get("type") != "Document" and not url.startswith("data:") and not own:
                    out.append("loads " + url)
        return out

    def picture(self, file, whole=True):
        if whole:
            size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 8000),
                    "scale": 1}
            got = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        else:
            got = self.ask("Page.captureScreenshot")
        with open(file, "wb") as out:
            out.write(base64.b64decode(got["data"]))

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        self.settle()

    def drag(self, x1, x2, y):
        self.mouse("mouseMoved", x1, y)
        self.mouse("mousePressed", x1, y, button="left", buttons=1, clickCount=1)
        for i in range(1, 6):
            self.mouse("mouseMoved", x1 + (x2 - x1) * i / 5, y, button="left", buttons=1)
        self.mouse("mouseReleased", x2, y, button="left", clickCount=1)

    def box(self, selector):
        """Where an element is in the window, after it was scrolled to."""
        return self.says(
            f"(()=>{{const e=document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block:'center'});const r=e.getBoundingClientRect();"
            "return {x:r.left,y:r.top,w:r.width,h:r.height}})()")

    def touch(self, kind, points):
        self.ask("Input.dispatchTouchEvent", type=kind,
                 touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)])
        self.settle()
