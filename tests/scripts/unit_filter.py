"""Runs a command as the user nobody (if we are root), under the SystemCallFilter= lines of a systemd unit:

    unit_filter.py UNIT COMMAND ...

As with systemd, a list begins with @default, a later line adds to it or with ~ takes from it, and any other
call kills the process (SIGSYS). Exits with 77 where the list of calls or libseccomp is absent."""

import ctypes
import os
import pwd
import subprocess
import sys

KILL_PROCESS, ALLOW = 0x80000000, 0x7FFF0000


def calls(name):
    if not name.startswith("@"):
        return {name}
    said = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True).stdout
    words = [line.strip() for line in said.splitlines()[1:]]
    return set().union(*(calls(word) for word in words if word and word[0] != "#"))


def allowed(unit):
    result = calls("@default")
    for line in open(unit):
        key, _, value = line.strip().partition("=")
        if key == "SystemCallFilter":
            named = set().union(*map(calls, value.lstrip("~").split()))
            result = result - named if value.startswith("~") else result | named
    return result


try:
    seccomp = ctypes.CDLL("libseccomp.so.2")
    names = allowed(sys.argv[1])
except (OSError, subprocess.CalledProcessError) as e:
    print(f"# {e}")
    sys.exit(77)
seccomp.seccomp_init.restype = ctypes.c_void_p
context = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(KILL_PROCESS)))
numbers = [seccomp.seccomp_syscall_resolve_name(name.encode()) for name in names]
for number in numbers:
    if number >= 0:  # below 0: this processor has none
        assert seccomp.seccomp_rule_add(context, ctypes.c_uint32(ALLOW), number, 0) == 0
assert max(numbers) > 0
if os.getuid() == 0:
    nobody = pwd.getpwnam("nobody")
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)
assert seccomp.seccomp_load(context) == 0  # which sets no_new_privs, as the unit does
os.execvp(sys.argv[2], sys.argv[2:])
