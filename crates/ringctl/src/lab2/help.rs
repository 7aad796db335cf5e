//! Long help texts about nodes of a ring.

pub(crate) const RUN: &str = "\
The command's environment:
  RINGD_TOKEN     the fencing token: progress-author-number
  RINGD_LOCK      the same token: ringctl data set uses that lock, and ringctl
                  run, once, lock and pause --wait fail instead of waiting for
                  its end
  RINGD_PROGRESS  the first part of the token, which grows with every handover
  RINGD_GRADE     how safe the lock was when it was granted: quorum (more than
                  half of the ring confirmed it), view (all members that were
                  heard lately confirmed it) or alone
  RINGD_DATA      the token's data in hexadecimal digits, because an
                  environment variable cannot contain a byte of value 0

ringctl forwards TERM, INT, HUP, QUIT, USR1, USR2, WINCH and TSTP to the \
command. While it waits for the token, the first four end ringctl, and USR1, \
USR2 and WINCH do nothing.

If the network splits, each side has a holder. If ringd --expect gives the \
number of members, at most one of the holders has a quorum. With --require \
quorum the command starts when there is a quorum, and is ended when the quorum \
is lost.

When the token is lost, the command and all processes that it has started get \
SIGTERM. They get SIGKILL before another node can get the token. The same \
happens to processes that a command leaves behind, and if ringctl is killed. \
ringctl finds these processes by their process group and, if it can create one, \
by their control group (version 2). It does not find a process that has left \
both groups, for example with setsid and systemd-run --scope.

Without a control group, an ordinary user cannot end processes of another user: \
use sudo ringctl run -- CMD, not ringctl run -- sudo CMD. Otherwise ringctl \
prints which process continues. It holds the token until that process has \
ended, or the token is lost.";

pub(crate) const RUN_CODES: &str = "\
Exit codes: the command's; 128 plus the signal's number if a signal ended it;
and
  1    the token was not granted in time (-E sets another code); ringd refused
       the request, ringctl already runs under the token, or a system call
       failed (always 1)
  3    no ringd runs here, or it has ended or does not answer
  75   the token was lost; the message shows whether all processes were ended
  126  the command cannot be run
  127  there is no such command

Examples:
  ringctl run -- backup /srv           wait for the token
  ringctl run -n -- backup /srv        do not wait if another program holds it
  ringctl run -w 2.5 -E 9 -c 'a && b'  give up after 2.5 s, with exit code 9";

pub(crate) const ONCE: &str = "\
Put the same line into a file in /etc/cron.d of every machine, with the full \
path of ringctl. The first machine that gets the token stamps the run with NAME, \
waits until the other members have stored the stamp, and runs the command as \
ringctl run does. The other machines find the stamp, do not run the command, and \
exit with 0. They print one line: where the job ran, whether that run was lost, \
and when its period ends. With -q they print nothing.

The period begins when the last run began. A call also runs the command if at \
most a hundredth of the period, and at most a minute, is left. So --every 24h \
serves a job that is called every 24 hours. Give a shorter period, such as 20h, \
if calls may come earlier, as on the day when clocks are put forward. Each \
machine uses its own clock; no two clocks are compared.

Without --retry every stamped run counts, even if it fails: no second run begins \
within the period. With --retry a run does not count if it failed (exit code \
other than 0) or was lost (the machine crashed, or the token was lost). Then the \
next call on any machine runs the command again. If the command does not exist \
or cannot be run (exit codes 127 and 126, unless they come from a shell), the \
next call on any machine runs it.

If the network splits, each side may run the job once. With --require quorum \
only the side with more than half of the members runs it. ringd --expect gives \
the number of members.

ringctl status shows the last runs. A ring stores 32 names. A new name replaces \
a name whose period has ended. To end the period of a name that is not needed \
any more: ringctl once NAME --every 1ms -- true.

The command's environment and exit codes are those of ringctl run, and
  0   the job has run in this period, or runs now
  1   the ring cannot store another name, or the token was not granted in time
      (-E sets another code)

Examples:
  ringctl once nightly --every 20h -- backup /srv
  ringctl once nightly --every 20h --retry --require quorum -- backup /srv";

pub(crate) const LOCK: &str = "\
A background process (ringd-keeper) holds the lock while the process that the \
lock is bound to lives. Prefer ringctl run where you can. With ringctl lock, \
only --kill ends the script when the lock is lost, and processes that the script \
has started continue. --kill does not work if ringd and ringd-keeper are killed \
at the same time.";

pub(crate) const LOCK_CODES: &str = "\
Exit codes:
  0   the lock is held
  1   the token was not granted in time (-E sets another code); --check: the
      lock is not held; ringd refused the request, or a system call failed
      (always 1)
  3   no ringd runs here, or it has ended or does not answer
  75  the token was lost; only with --pipe, or right after it was acquired

In a script, bound to its process:
  token=$(ringctl lock --pid $$ --kill) || exit
  RINGD_TOKEN=$token ringctl guard /nfs/report.fence -- mv report /nfs/
  RINGD_LOCK=$token ringctl data set 'report moved'
  ringctl unlock --pid $$

Bound to an open file descriptor, 9, and to all processes that inherit it:
  mkfifo /tmp/lock.$$
  ringctl lock --pipe > /tmp/lock.$$ &
  exec 9< /tmp/lock.$$; rm /tmp/lock.$$
  read -r token <&9 || exit
  ...
  exec 9<&-
When the lock is lost, a read from 9 returns the end of the file.";

pub(crate) const PAUSE: &str = "\
Exit codes:
  0  the node does not own the token, and will not until resume
  6  pending: the node still owns the token. Either a program still uses it
     (--drain), or no other member takes it. Until another member takes it, the
     node keeps the token and grants it to no program

Examples:
  ringctl pause --persist && reboot            stay paused after the reboot,
                                               until ringctl resume
  ringctl pause --drain --wait && apt upgrade  let a running job end first";

pub(crate) const WAIT: &str = "\
Exit codes:
  0  the node is in that state
  1  the node did not reach that state in the time of -w
  3  no ringd runs here, or it has ended";
