#!/usr/bin/env python3
"""Writes a header in which every virtual table of TensorRT is implemented, from its own headers.

    stubs.py FOLDER... > stubs.hpp

The classes apiv::V... differ from version to version in hundreds of functions. Each becomes a
template Stub...<Derived> whose functions stop the program, but for those of HOOKS: they call
Derived::on_<name> with the same arguments. A hook that a version does not have is left out.
"""

import os
import re
import sys

HOOKS = {
    "VBuilder": ("createNetworkV2", "createBuilderConfig", "createOptimizationProfile",
                 "buildSerializedNetwork"),
    "VNetworkDefinition": (),
    "VBuilderConfig": ("setMemoryPoolLimit", "setMaxWorkspaceSize", "setFlag", "createTimingCache",
                       "setTimingCache", "getTimingCache", "addOptimizationProfile"),
    "VOptimizationProfile": ("setDimensions",),
    "VTimingCache": ("serialize",),
    "VHostMemory": ("data", "size"),
    "VRuntime": ("deserializeCudaEngine",),
    "VCudaEngine": ("createExecutionContext", "getNbIOTensors", "getIOTensorName", "getNbBindings",
                    "getBindingName", "getBindingIndex"),
    "VExecutionContext": ("setInputShape", "setTensorAddress", "enqueueV3", "setBindingDimensions",
                          "enqueueV2"),
}
PARSER_HOOKS = {"IParser": ("parseFromFile", "getNbErrors", "getError"), "IParserError": ("desc",)}
PURE = re.compile(r"virtual\s+(?P<result>[^;{}()]*?[\s*&])(?P<name>\w+)\((?P<arguments>[^;{}]*?)\)"
                  r"\s*(?P<const>const)?\s*(?P<noexcept>noexcept)?\s*=\s*0\s*;", re.S)


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def bodies(text):
    """(name, base, body) of each class."""
    for found in re.finditer(r"class (?:\w+ )?(\w+)\s*(?::\s*public\s+(\w+)\s*)?\{(.*?)\n\};", text, re.S):
        yield found[1], found[2], found[3]


def name_of(argument):
    """An argument that has a name is one word more than its type."""
    word = re.search(r"(\w+)\s*$", argument.split("=")[0].strip())
    return word[1] if word else ""


def function(match, hooks):
    arguments = [a.strip() for a in match["arguments"].split(",") if a.strip()]
    plain = ", ".join(a.split("=")[0].strip() for a in arguments)
    body = "std::abort();"
    if match["name"] in hooks:
        call = "on_%s(%s)" % (match["name"], ", ".join(map(name_of, arguments)))
        derived = "const Derived" if match["const"] else "Derived"
        body = "return static_cast<%s*>(this)->%s;" % (derived, call)
    return "  %s%s(%s) %s%soverride { %s }" % (
        match["result"].lstrip(), match["name"], plain, "const " if match["const"] else "",
        "noexcept " if match["noexcept"] else "", body)


def read_classes(folders, header):
    """name: (base, body)"""
    for folder in folders:
        path = os.path.join(folder, header)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return {name: (base, body) for name, base, body in bodies(without_comments(file.read()))}
    raise SystemExit("no %s in %s" % (header, folders))


def write(classes, hooks_of, cut):
    for name, hooks in hooks_of.items():
        if name not in classes:
            raise SystemExit("no class " + name)
        print("template <class Derived>\nclass Stub%s : public %s {\n public:" % (name[cut:], name))
        at = name
        while at in classes:
            for match in PURE.finditer(classes[at][1]):
                print(function(match, hooks))
            at = classes[at][0]
        print("};")


def main():
    folders = sys.argv[1:]
    print("#pragma once\n#include <NvInfer.h>\n#include <NvOnnxParser.h>\n#include <cstdlib>\n"
          "namespace nvinfer1 {\nnamespace apiv {")
    write(read_classes(folders, "NvInferImpl.h"), HOOKS, 1)
    print("}  // namespace apiv\n}  // namespace nvinfer1\nnamespace nvonnxparser {")
    write(read_classes(folders, "NvOnnxParser.h"), PARSER_HOOKS, 1)
    print("}  // namespace nvonnxparser")


if __name__ == "__main__":
    main()
