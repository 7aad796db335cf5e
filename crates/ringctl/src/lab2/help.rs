//! Long help texts about nodes of a ring.

pub(crate) const RUN: &str = concat!(
    "The command's environment:\n",
    "  RINGD_TOKEN     the fencing token: progress-author-number\n",
    "  RINGD_LOCK      the same fencing token; ringctl data set reads this variable.\n",
    "                  Commands that would wait for the end of this lock fail at\n",
    "                  once: run, once, lock and pause --wait\n",
    "  RINGD_PROGRESS  the first part of the token, which grows with every handover\n",
    "  RINGD_GRADE     the grade of the lock when it was granted (see --require)\n",
    "  RINGD_DATA      the token's data in hexadecimal digits, because an\n",
    "                  environment variable cannot contain a zero byte\n",
    "  RINGD_LOCKS     with --name: NAME=TOKEN for each named lock of the command.\n",
    "                  RINGD_LOCK and RINGD_DATA then keep their values\n",
    "
ringctl forwards these signals to the command: TERM, INT, HUP, QUIT, USR1, USR2, \
WINCH and TSTP. While ringctl waits for the token, TERM, INT, HUP and QUIT end \
ringctl. During this wait, ringctl ignores USR1, USR2 and WINCH.

If the network splits, each side can have a holder. If ringd --ring-size gives the \
number of members, at most one side has a quorum. With --require quorum, the \
command starts when there is a quorum, and ringctl ends it when the quorum is \
lost.

When the token is lost, ringctl sends SIGTERM to the command and to all processes \
that the command has started. SIGKILL follows before another node can get the \
token. If a command exits and leaves processes behind, ringctl ends these \
processes in the same way. If ringctl is killed, its background process, \
ringd-keeper, ends all these processes.

To find these processes, ringctl uses their process group and, if it can create \
one, their control group (version 2). But ringctl does not find a process that has \
left both groups, for example with setsid and systemd-run --scope.

Without a control group, an ordinary user cannot end processes of another user. \
So use sudo ringctl run -- CMD, not ringctl run -- sudo CMD. If such a process \
continues, ringctl prints its name. Then ringctl holds the token until the process \
ends or the token is lost."
);

pub(crate) const RUN_CODES: &str = concat!(
    "The exit code is the exit code of the command, or 128 + N if signal N ended\n",
    "the command. Other exit codes:\n",
    "  1    the token was not granted in time (-E sets another code)\n",
    "  1    ringd refused the request, ringctl already runs under the token, or a\n",
    "       system call failed\n",
    "  3    no ringd runs here, it has ended, or it does not answer\n",
    "  75   the token was lost; the message shows whether all processes were ended\n",
    "  126  the command cannot be run\n",
    "  127  there is no such command\n",
    "\nExamples:\n",
    "  ringctl run -- backup /srv           wait for the token\n",
    "  ringctl run -n -- backup /srv        do not wait if another program holds it\n",
    "  ringctl run --name backup -- backup /srv\n",
    "                                       use the lock backup instead of the token\n",
    "  ringctl run -w 2.5 -E 9 -c 'a && b'  give up after 2.5 s, with exit code 9"
);

pub(crate) const RUN_TARGET: &str = concat!(
    "\
A unit runs with the target if it has these lines. Here the target is \
ringd-leader@eth0.target. The name of the slice is the name of the target, with - \
instead of @:

",
    "  [Unit]\n",
    "  BindsTo=ringd-leader@eth0.target\n",
    "  After=ringd-leader@eth0.target\n",
    "  [Service]\n",
    "  Slice=ringd-leader-eth0.slice\n",
    "  [Install]\n",
    "  WantedBy=ringd-leader@eth0.target\n",
    "
When the lock is lost, systemd stops the target and its units. All processes that \
are left in the slice are killed before another machine can get the lock. The \
command refuses a target if one of its units lacks BindsTo=, After= or Slice=.

",
    "Exit codes:\n",
    "  0   the target was stopped, and the lock was released\n",
    "  1   the lock was not granted in time (-E sets another code)\n",
    "  1   ringd refused the request, systemd cannot start or stop the target, or a\n",
    "      system call failed\n",
    "  2   a unit that is bound to the target lacks a line, or this user cannot kill\n",
    "      the units\n",
    "  3   no ringd runs here, it has ended, or it does not answer\n",
    "  75  the lock was lost\n",
    "\nThe service runs this command on every machine:\n",
    "  systemctl enable --now ringd-leader@eth0"
);

pub(crate) const ONCE: &str = concat!(
    "\
Put the same line, with the full path of ringctl, into a file in /etc/cron.d on \
every machine. The first machine that gets the token sends a stamp for NAME to \
the other members. When they have stored the stamp, the machine runs the command \
as ringctl run does. On the other machines, ringctl finds the stamp and exits \
with 0 without running the command. The output is one line about the run: the \
machine, the outcome, and the end of the period. With -q, there is no output.

A period begins when a run begins. A call may come early: at most a hundredth of \
the period, and at most one minute. So --every 24h suits a job that cron starts \
every 24 hours. If calls can come even earlier, for example when clocks are put \
forward, give a shorter period, such as 20h. Each machine uses its own clock; no two \
clocks are compared.

Without --retry, every stamped run counts, even if it fails: no second run begins \
within the period. With --retry, a failed or lost run does not count: the next \
call on any machine runs the command. A run has failed if its exit code is not 0. \
A run is lost if the machine crashed, or if the token was lost.

If the command does not exist (exit code 127) or cannot be run (126), the run \
never counts. If the code 127 or 126 comes from a shell, the run has failed.

If the network splits, each side may run the job once. With --require quorum, only \
the side with more than half of the members runs the job. The option --ring-size \
of ringd gives the number of members.

ringctl status shows the last runs. A ring stores up to 32 names. A new name \
replaces a name whose period has ended. To end the period of a name that you no \
longer need, run: ringctl once NAME --every 1ms -- true.

",
    "The command has the environment and the exit codes of ringctl run. More codes:\n",
    "  0  the job has already run in this period, or runs now (with --retry, ringctl\n",
    "     waits for a job that runs now)\n",
    "  1  the token was not granted in time (-E sets another code)\n",
    "  1  the ring cannot store another name\n",
    "\nExamples:\n",
    "  ringctl once nightly --every 20h -- backup /srv\n",
    "  ringctl once nightly --every 20h --retry --require quorum -- backup /srv"
);

pub(crate) const LOCK: &str = "\
The lock belongs to a process, by default to the caller. When that process ends, \
the lock ends. A background process, ringd-keeper, holds the lock. Prefer ringctl \
run where you can. If ringctl run loses its lock, it ends all processes of the \
command. If a lock that ringctl lock acquired is lost, the script gets SIGTERM only \
if --kill was given. The processes that the script has started continue. If ringd and \
ringd-keeper are killed at the same time, --kill has no effect.";

pub(crate) const LOCK_CODES: &str = concat!(
    "Exit codes:\n",
    "  0   the lock is held\n",
    "  1   the token was not granted in time (-E sets another code)\n",
    "  1   with --check: the lock is not held\n",
    "  1   ringd refused the request, or a system call failed\n",
    "  3   no ringd runs here, it has ended, or it does not answer\n",
    "  75  the token was lost right after ringctl acquired it. With --pipe: the token\n",
    "      was lost at any time\n",
    "\nBind the lock to the process of a script:\n",
    "  token=$(ringctl lock --pid $$ --kill) || exit\n",
    "  RINGD_TOKEN=$token ringctl guard /nfs/report.fence -- mv report /nfs/\n",
    "  RINGD_LOCK=$token ringctl data set 'report moved'\n",
    "  ringctl unlock --pid $$\n",
    "\nHold the lock until no process has file descriptor 9 open:\n",
    "  mkfifo /tmp/lock.$$\n",
    "  ringctl lock --pipe > /tmp/lock.$$ &\n",
    "  exec 9< /tmp/lock.$$; rm /tmp/lock.$$\n",
    "  read -r token <&9 || exit\n",
    "  ...\n",
    "  exec 9<&-\n",
    "When the lock is lost, reads from descriptor 9 return the end of the file."
);

pub(crate) const PAUSE: &str = concat!(
    "Exit codes:\n",
    "  0  the node does not own the token, and does not get it until the end of the\n",
    "     pause\n",
    "  6  pending: the node still owns the token, because a program uses the token\n",
    "     (--drain) or no other member takes the token. Until another member takes the\n",
    "     token, the node grants it to no program\n",
    "\nExamples:\n",
    "  ringctl pause --for 2h --reason 'new disk'   resume in two hours at the latest\n",
    "  ringctl pause --persist && reboot            stay paused after the reboot,\n",
    "                                               until ringctl resume\n",
    "  ringctl pause --drain --wait && apt upgrade  let a running job end first"
);

pub(crate) const DOCTOR: &str = concat!(
    "\
The members of a ring measure each other for some seconds: lost frames, round trips, \
long frames and broadcasts. The command also reads the status of the daemon. On this \
machine, it checks the interface, the bridge and the filters. Each finding has its \
evidence and a remedy. Without a running daemon, ringctl checks only this machine.

At a node of another system, the command reads only the status. It finds the troubles \
of the daemon. It also finds nodes that do not sign, or that sign with another key. At a \
server of the token service, it finds clients that do not sign.

The shortest heartbeat is the shortest value of ringd --heartbeat with which this \
ring has no false alarm. It follows from the worst times of the measurement.

A measurement needs the right to act, and the rules of nftables need root.

",
    "Exit codes:\n",
    "  0  no finding, or only notes\n",
    "  1  at least one error or warning, for example because no ringd runs\n",
    "  4  several ringd run here: name one NODE\n",
    "\nExamples:\n",
    "  sudo ringctl doctor                 examine the only daemon of this machine\n",
    "  sudo ringctl doctor eth0            examine the ring of eth0\n",
    "  sudo ringctl doctor ftn-0           examine a server of the token service\n",
    "  ringctl doctor --json | jq -r '.findings[].kind'"
);

pub(crate) const WAIT: &str = concat!(
    "Exit codes:\n",
    "  0  the node is in that state, or has a quorum\n",
    "  1  the node did not reach the state or the quorum within the time of -w\n",
    "  3  no ringd runs here, or it has ended"
);
