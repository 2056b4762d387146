"""A seccomp filter: no new processes, programs, sockets, mounts or namespaces, and nothing that looks at others.

Threads are allowed (a lesson uses one), so `clone` passes with CLONE_THREAD alone, and `clone3`, whose flags a filter
cannot read, is answered as if the kernel had none. What came to Linux after this list was made is refused too.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from tito.teach.sealed import system

PR_SET_SECCOMP, MODE_FILTER = 22, 2
ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
ARCHITECTURES = (0xC000003E, 0xC00000B7)
X32 = 0x40000000
THREAD = 0x10000  # CLONE_THREAD
CLONE, CLONE3 = (56, 220), 435
NEWEST = 463

REFUSED = {  # name: number on x86-64, on ARM; None where there is none
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    "recvmsg": (47, 212),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "mount_setattr": (442, 442),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "seccomp": (317, 277),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "personality": (135, 92),
    "quotactl": (179, 60),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "fanotify_init": (300, 262),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "capset": (126, 91),
    "setuid": (105, 146),
    "setgid": (106, 144),
    "setresuid": (117, 147),
    "setresgid": (119, 149),
    "setgroups": (116, 159),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vmsplice": (278, 75),
    "sched_setscheduler": (144, 119),
    "ioprio_set": (251, 30),
    "setpriority": (141, 140),
}


def restrict() -> None:
    """Install the filter in this process. Call it after PR_SET_NO_NEW_PRIVS. Raises OSError."""
    steps = program(system.MACHINE or 0)
    code = ctypes.create_string_buffer(b"".join(steps))
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(steps), ctypes.addressof(code)))
    system.call((157, 167), PR_SET_SECCOMP, MODE_FILTER, ctypes.addressof(header), 0, 0)


def program(machine: int) -> list[bytes]:
    """The filter for x86-64 (0) or ARM (1), an instruction (struct sock_filter) an item."""
    refused = sorted({pair[machine] for pair in REFUSED.values()} - {None}, key=lambda number: number or 0)
    steps = [_load(ARCHITECTURE), _step(EQUAL, 1, 0, ARCHITECTURES[machine]), _give(KILL), _load(NUMBER)]
    steps += [*_answer(AT_LEAST, NEWEST, REFUSE | errno.ENOSYS), *_answer(EQUAL, CLONE3, REFUSE | errno.ENOSYS)]
    for number in refused:
        steps += _answer(EQUAL, number or 0, REFUSE | errno.EPERM)
    steps += [_step(EQUAL, 0, 3, CLONE[machine]), _load(FIRST_ARGUMENT)]
    return [*steps, _step(ANY_BIT, 1, 0, THREAD), _give(REFUSE | errno.EPERM), _give(ALLOW)]


def _answer(test: int, value: int, answer: int) -> list[bytes]:
    """Give the answer when the test holds."""
    return [_step(test, 0, 1, value), _give(answer)]


def _load(offset: int) -> bytes:
    return _step(LOAD, 0, 0, offset)


def _give(answer: int) -> bytes:
    return _step(RETURN, 0, 0, answer)


def _step(code: int, when_true: int, when_false: int, value: int) -> bytes:
    return struct.pack("<HBBI", code, when_true, when_false, value)
