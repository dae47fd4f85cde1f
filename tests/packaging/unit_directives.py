"""Every directive that laird's units may use: the systemd it came with, and what an older one does.

JetPack 4 has systemd 237, JetPack 7 has 255. A directive that came later than 237 is listed only if an older
systemd logs a line, ignores it and starts the unit all the same."""

OLDEST = 237

# Came with 237 or before; 0: older than anybody runs.
SINCE = {
    "Accept": 0, "After": 0, "Before": 0, "CapabilityBoundingSet": 0, "ConditionPathExists": 0, "Description": 0,
    "Documentation": 0, "ExecStart": 0, "ExecStartPost": 0, "ExecStartPre": 0, "Group": 0, "KillMode": 0, "ListenSequentialPacket": 0, "ListenStream": 0,
    "MaxConnections": 0, "OOMScoreAdjust": 0, "PrivateNetwork": 0, "PrivateTmp": 0, "Restart": 0,
    "RestartSec": 0, "SocketMode": 0, "StandardError": 0, "StandardInput": 0, "StandardOutput": 0,
    "TimeoutStopSec": 0, "Type": 0, "UMask": 0, "User": 0, "WantedBy": 0, "Wants": 0, "WatchdogSec": 0,
    "OnFailure": 0, "PathExists": 0, "NoNewPrivileges": 187, "SystemCallFilter": 187, "RestartPreventExitStatus": 189, "Slice": 205,
    "Delegate": 205, "SystemCallArchitectures": 209, "SystemCallErrorNumber": 209,
    "RestrictAddressFamilies": 211, "RuntimeDirectory": 211, "ProtectHome": 214, "ProtectSystem": 214,
    "SocketUser": 214, "SocketGroup": 214, "TasksMax": 227, "AmbientCapabilities": 229,
    "StartLimitIntervalSec": 230, "MemoryDenyWriteExecute": 231, "ReadWritePaths": 231, "RestrictRealtime": 231,
    "ProtectControlGroups": 232, "ProtectKernelModules": 232, "ProtectKernelTunables": 232, "RemoveIPC": 232,
    "RestrictNamespaces": 233, "ConfigurationDirectory": 235, "ConfigurationDirectoryMode": 235,
    "LockPersonality": 235, "RuntimeDirectoryPreserve": 235, "StateDirectory": 235, "StateDirectoryMode": 235,
    "CollectMode": 236,
}

# Later than 237, and harmless there: logged, ignored, the unit starts.
IGNORED_BY_OLDER = {
    "ProtectHostname": 242, "RestrictSUIDSGID": 242, "OOMPolicy": 243, "ProtectKernelLogs": 244,
    "ProtectProc": 247,
}

# What must not be there, and why.
BREAKS = {
    "ProtectClock": "implies DeviceAllow=char-rtc up to systemd 251: every other device is refused, no GPU",
    "DeviceAllow": "closes /dev: trainers inherit it, no GPU",
    "DevicePolicy": "closes /dev: trainers inherit it, no GPU",
    "PrivateDevices": "closes /dev: trainers inherit it, no GPU",
    "DynamicUser": "the user must be the same in every boot: files belong to it",
}


def complaint(directive, value):
    """Why a line must not be in a unit; None if it may."""
    if directive in BREAKS:
        return "%s: %s" % (directive, BREAKS[directive])
    if directive == "SystemCallFilter" and not value.startswith("~"):
        return ("SystemCallFilter: a list of what is allowed; systemd 237 does not know @system-service, and the "
                "program exits with 127")
    if directive not in SINCE and directive not in IGNORED_BY_OLDER:
        return "%s: not in the table of directives; find out since when it is there and what older ones do" % directive
    return None
