#!/usr/bin/python3
"""Translates PTX into C, for a driver that has no GPU: one C statement for each PTX operation.

    translate_ptx.py IN.ptx OUT.c [--contraction]

Nothing is understood beyond what the kernels of laird use; an operation that is not in the table below
is an error, never a guess. A kernel becomes a function that runs one thread until it ends or waits at a
barrier: the registers are in a structure, so that it can go on where it stopped. All address spaces are
memory of this process. --contraction knows fma and arithmetic without
.rn as well, for the control that must give other bits."""

import re
import sys

# Register classes of PTX as C types, by the first letters of the register's name.
TYPES = {"pred": "uint8_t", "b16": "uint16_t", "b32": "uint32_t", "b64": "uint64_t", "f32": "float",
         "f64": "double"}
C = {"u32": "uint32_t", "s32": "int32_t", "b32": "uint32_t", "u64": "uint64_t", "s64": "int64_t",
     "b64": "uint64_t", "f32": "float", "f64": "double"}
ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
SPECIAL = {"%tid.x": "t->tid", "%ntid.x": "t->ntid", "%ctaid.x": "t->ctaid"}


def fail(text):
    sys.exit("translate_ptx: " + text)


class Kernel:
    def __init__(self, name):
        self.name, self.param, self.param_bytes = name, None, 0
        self.registers, self.shared, self.lines, self.barriers = [], [], [], 0
        self.shared_bytes = 0

    def register(self, text):
        return "t->" + text[1:] if re.fullmatch(r"%[a-z]+\d+", text) else None

    def operand(self, text, kind):
        """A source operand as a C expression of the type `kind`."""
        if text in SPECIAL:
            return SPECIAL[text]
        if self.register(text):
            return self.register(text)
        if match := re.fullmatch(r"0d([0-9A-F]{16})", text):
            return "f64_of(0x%sULL)" % match[1]
        if match := re.fullmatch(r"0f([0-9A-F]{8})", text):
            return "f32_of(0x%sU)" % match[1]
        if re.fullmatch(r"-?\d+", text) and not kind.startswith("f"):
            return "(%s)%sLL" % (C[kind], text) if int(text) < 2 ** 63 else "(%s)%sULL" % (C[kind], text)
        if (address := self.symbol(text)) and kind in ("u64", "b64"):
            return address
        fail("%s: operand %s" % (self.name, text))

    def symbol(self, text):
        if text == self.param:
            return "(uint64_t)(uintptr_t)param"
        offset = dict(self.shared).get(text)
        return None if offset is None else "((uint64_t)(uintptr_t)shared + %d)" % offset

    def address(self, text):
        match = re.fullmatch(r"\[([%\w$]+)(?:\+(-?\d+))?\]", text)
        if not match:
            fail("%s: address %s" % (self.name, text))
        base = self.register(match[1]) or self.symbol(match[1]) or fail("%s: %s" % (self.name, text))
        return "(%s + (%s))" % (base, match[2] or "0")

    def statement(self, operation, args, contraction):
        """One C statement for one operation."""
        part = operation.split(".")
        what, kind = part[0], part[-1]
        to = self.register(args[0]) if args else None
        source = lambda i, k=kind: self.operand(args[i], k)
        cast = lambda i, k=kind: "(%s)%s" % (C[k], self.operand(args[i], k))
        # Without .rn the driver's compiler may fuse what it likes.
        rounded = part[1:] in (["rn", "f32"], ["rn", "f64"]) or contraction and part[1:] in (["f32"], ["f64"])
        whole = kind in ("u32", "s32", "u64", "s64", "b32", "b64")
        if what in ARITHMETIC and rounded:
            return "%s = %s %s %s;" % (to, source(1), ARITHMETIC[what], source(2))
        if operation in ("rcp.rn.f64", "rcp.rn.f32"):
            return "%s = 1.0%s / %s;" % (to, "f" if kind == "f32" else "", source(1))
        if operation in ("sqrt.rn.f64", "sqrt.rn.f32"):
            return "%s = __builtin_sqrt%s(%s);" % (to, "f" if kind == "f32" else "", source(1))
        if contraction and operation in ("fma.rn.f64", "fma.rn.f32"):
            return "%s = __builtin_fma%s(%s, %s, %s);" % (to, "f" if kind == "f32" else "", source(1), source(2), source(3))
        if contraction and operation in ("neg.f64", "neg.f32"):
            return "%s = -%s;" % (to, source(1))
        # Unsigned in C, where they wrap like the device's; the low bits are the same.
        unsigned = kind.replace("s", "u")
        if what in ("add", "sub") and len(part) == 2 and whole:
            return "%s = %s %s %s;" % (to, cast(1, unsigned), ARITHMETIC[what], cast(2, unsigned))
        if operation in ("mul.lo.s32", "mul.lo.u32", "mul.lo.s64", "mul.lo.u64"):
            return "%s = %s * %s;" % (to, cast(1, unsigned), cast(2, unsigned))
        if operation == "mul.wide.u32":
            return "%s = (uint64_t)%s * %s;" % (to, cast(1), cast(2))
        if operation in ("div.u32", "div.u64"):
            return "%s = %s / %s;" % (to, cast(1), cast(2))
        if operation in ("shl.b32", "shl.b64", "shr.u32", "shr.u64"):
            return "%s = %s %s %s;" % (to, cast(1), "<<" if what == "shl" else ">>", source(2, "u32"))
        if operation in ("and.b32", "and.b64", "or.b32", "or.b64"):
            return "%s = %s %s %s;" % (to, cast(1), "&" if what == "and" else "|", cast(2))
        if operation in ("cvt.u64.u32", "cvt.u32.u64"):
            return "%s = (%s)%s;" % (to, C[part[1]], source(1))
        if operation == "cvta.to.global.u64":
            return "%s = %s;" % (to, source(1))
        if what == "mov" and len(part) == 2 and kind in C:
            return "%s = %s;" % (to, source(1))
        if what == "setp" and len(part) == 3 and part[1] in COMPARE and kind in C:
            return "%s = %s %s %s;" % (to, cast(1), COMPARE[part[1]], cast(2))
        if what == "selp" and len(part) == 2 and kind in C:
            return "%s = %s ? %s : %s;" % (to, self.register(args[3]), source(1), source(2))
        if what in ("ld", "st") and part[1] in ("param", "global", "shared") and kind in C:
            return self.memory(what, part[2:-1], C[kind], args)
        if operation in ("bra", "bra.uni"):
            return "goto %s;" % args[0].replace("$", "_")
        if operation == "bar.sync" and args == ["0"]:
            self.barriers += 1
            return "t->resume = %d; return 1; case %d:;" % (self.barriers, self.barriers)
        if operation == "ret":
            return "return 0;"
        fail("%s: operation %s %s" % (self.name, operation, ", ".join(args)))

    def memory(self, what, vector, c_type, args):
        at, values = (args[1], args[0]) if what == "ld" else (args[0], args[1])
        names = values.strip("{}").split(", ") if vector in (["v2"], ["v4"]) else [values]
        if vector not in ([], ["v2"], ["v4"]) or any(not self.register(n) for n in names):
            fail("%s: %s %s" % (self.name, what, args))
        out = []
        for i, name in enumerate(names):
            place = "((%s*)(uintptr_t)%s)[%d]" % (c_type, self.address(at), i)
            out.append("%s = %s;" % ((self.register(name), place) if what == "ld" else (place, self.register(name))))
        return " ".join(out)

    def text(self):
        out = ["struct thread_%s {" % self.name, "  uint32_t resume, tid, ntid, ctaid;"]
        for kind, name, count in self.registers:
            out.append("  %s %s;" % (TYPES[kind], ", ".join("%s%d" % (name, i) for i in range(count))))
        out += ["};", "static int run_%s(void* thread, const unsigned char* param, unsigned char* shared) {" % self.name,
                "  struct thread_%s* const t = thread;" % self.name, "  (void)param; (void)shared;",
                "  switch (t->resume) { case 0:;"]
        return "\n".join(out + ["  " + line for line in self.lines] + ["  }", "  return 0;", "}", ""])


def split_arguments(text):
    return re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", text)


def translate(ptx, contraction):
    kernels, kernel = [], None
    for raw in ptx.splitlines():
        line = raw.partition("//")[0].strip()
        if not line or re.match(r"\.(version|target|address_size|maxntid|minnctapersm)\b", line) or line in "(){}":
            continue
        if match := re.fullmatch(r"\.visible \.entry (\w+)\(", line):
            kernel = Kernel(match[1])
            kernels.append(kernel)
        elif kernel is None:
            fail("outside of a kernel: " + line)
        elif match := re.fullmatch(r"\.param \.align 8 \.b8 (\w+)\[(\d+)\]", line):
            kernel.param, kernel.param_bytes = match[1], int(match[2])
        elif match := re.fullmatch(r"\.reg \.(\w+)\s+%([a-z]+)<(\d+)>;", line):
            kernel.registers.append((match[1], match[2], int(match[3])))
        elif match := re.fullmatch(r"\.shared \.align 8 \.b8 (\w+)\[(\d+)\];", line):
            kernel.shared.append((match[1], kernel.shared_bytes))
            kernel.shared_bytes += int(match[2])
        elif match := re.fullmatch(r"([\w$]+):", line):
            kernel.lines.append("%s:;" % match[1].replace("$", "_"))
        elif match := re.fullmatch(r"(?:@(!?)(%p\d+)\s+)?([a-z][\w.]*)\s*(.*);", line):
            statement = kernel.statement(match[3], split_arguments(match[4]), contraction)
            if match[2]:
                statement = "if (%s%s) { %s }" % (match[1], kernel.register(match[2]), statement)
            kernel.lines.append(statement)
        else:
            fail("cannot read: " + line)
    return kernels


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--contraction"]):
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="ascii") as file:
        kernels = translate(file.read(), sys.argv[3:] == ["--contraction"])
    if not kernels:
        fail("no kernel in " + sys.argv[1])
    with open(sys.argv[2], "w", encoding="ascii") as out:
        out.write('#include "tests/harness/fake_cuda/translated.h"\n\n#include <string.h>\n\n')
        out.write("static inline double f64_of(uint64_t b) { double v; memcpy(&v, &b, sizeof v); return v; }\n")
        out.write("static inline float f32_of(uint32_t b) { float v; memcpy(&v, &b, sizeof v); return v; }\n\n")
        for kernel in kernels:
            out.write(kernel.text() + "\n")
        out.write("const struct TranslatedKernel translated_kernels[] = {\n")
        for k in kernels:
            out.write('    {"%s", %d, sizeof(struct thread_%s), %d, run_%s},\n'
                      % (k.name, k.param_bytes, k.name, k.shared_bytes, k.name))
        out.write("};\nconst unsigned translated_count = %d;\n" % len(kernels))


if __name__ == "__main__":
    main()
