//! What `--help` says at length of what `ringctl` does with a node of a ring.

/// What `ringctl run` promises of a ring.
pub(crate) const RUN: &str = "\
The command's environment:
  RINGD_TOKEN     the fencing token: progress-author-number
  RINGD_LOCK      the same: ringctl data set works under that lock, and ringctl
                  run, once, lock and pause --wait do not wait for its end
  RINGD_PROGRESS  its first part, which grows with every hand-over
  RINGD_GRADE     how safe the lock was when it was granted: quorum (more than
                  half of the ring confirms it), view (all that were heard
                  lately do) or alone
  RINGD_DATA      the token's data in hexadecimal digits, since no
                  environment can hold a byte of value 0

ringctl passes TERM, INT, HUP, QUIT, USR1, USR2, WINCH and TSTP on to the \
command. While it waits for the token, the first four end it, and USR1, USR2 \
and WINCH do nothing.

A cut segment has a holder on each side, but only one of them has a quorum, if \
ringd --expect says how many members there are. With --require quorum the \
command starts when there is a quorum, and is ended when the quorum is lost.

When the token is lost, the command and all that it has started get SIGTERM, \
and SIGKILL before another node can be granted the token. The same happens to \
what a command leaves behind when it ends, and if ringctl is killed. What leaves \
its process group (setsid) is found by its control group (version 2), where one \
can be made, and what leaves that (systemd-run --scope, su -) by its process \
group. What leaves both is not found.

An ordinary user cannot end what runs as another user, unless a control group \
can be made: use sudo ringctl run -- CMD, not ringctl run -- sudo CMD. Otherwise \
ringctl says what works on, and holds the token until that has ended, or the \
token is lost.";

/// The end of that.
pub(crate) const RUN_CODES: &str = "\
Exit codes: those of the command; 128 and the signal's number, if one ended it;
and
  1    the token was not granted in time (-E sets another code); ringd answered
       with an error, as too many clients, ringctl runs under the token
       already, or a system call failed (always 1)
  3    no ringd runs here, it has ended, or it does not answer
  75   the token was lost; the message says whether all was ended in time
  126  the command cannot be run
  127  there is no such command

Examples:
  ringctl run -- backup /srv           wait for the token
  ringctl run -n -- backup /srv        do not wait while another one holds it
  ringctl run -w 2.5 -E 9 -c 'a && b'  give up after 2.5 s, with exit code 9";

/// The same of `ringctl once`.
pub(crate) const ONCE: &str = "\
Put the same line into a file in /etc/cron.d of every machine, with the path of ringctl. The first one that is \
granted the token stamps the run with NAME, has the other members store the \
stamp, and runs the command as ringctl run does. The others find the stamp, run \
nothing and exit with 0. They say in one line where the job has run, whether that \
run was lost, and when its period ends; with -q they say nothing.

The period counts from when the last run began. A call also runs the command \
if at most a hundredth of the period, and at most a minute, is left: --every 24h serves a job that is called every 24 hours. \
Give less if calls may come earlier, as on the day when clocks are put forward: \
20h. Each machine counts by its own clock; no two clocks are compared.

A run counts as soon as it is stamped, whatever becomes of it: within the period \
there is never a second one. With --retry one that has failed (exit code other than \
0) or was lost (the machine crashed, the token was lost) does not count, and the \
next machine that asks runs the command again, at once or when the token is free. \
A command that this machine does not have or cannot run (exit codes 127 and 126, \
unless they are a shell's) was not begun: the next machine that asks runs it.

A segment that is cut may run the job once on each side. With --require quorum it \
runs on the side that has more than half of the members, whose number ringd was \
told with --expect, and on no other.

The last runs are shown by ringctl status. A ring remembers 32 names. A name whose \
period is over gives way to a new one. To end the period of one that is no longer \
needed: ringctl once NAME --every 1ms -- true.

The command's environment and exit codes are those of ringctl run, and
  0   the job has run in this period, or is being run
  1   no more names can be remembered, or the token was not granted in time (-E
      sets another code)

Examples:
  ringctl once nightly --every 20h -- backup /srv
  ringctl once nightly --every 20h --retry --require quorum -- backup /srv";

/// The same of `ringctl lock`.
pub(crate) const LOCK: &str = "\
A process in the background (ringd-keeper) holds the lock for as long as the \
process that the lock is bound to is alive. Prefer ringctl run where it fits: \
here only --kill ends the script when the lock is lost, and nothing ends what \
the script has started. --kill fails if ringd and ringd-keeper are killed at the \
same time.";

/// The end of that.
pub(crate) const LOCK_CODES: &str = "\
Exit codes:
  0   the lock is held
  1   the token was not granted in time (-E sets another code); --check: it is
      not held; ringd answered with an error, or a system call failed (always 1)
  3   no ringd runs here, it has ended, or it does not answer
  75  the token was lost; only with --pipe, or right after it was acquired

In a script, bound to its process:
  token=$(ringctl lock --pid $$ --kill) || exit
  RINGD_TOKEN=$token ringctl guard /nfs/report.fence -- mv report /nfs/
  RINGD_LOCK=$token ringctl data set 'report moved'
  ringctl unlock --pid $$

Bound to an open file descriptor, 9, and to all who inherit it:
  mkfifo /tmp/lock.$$
  ringctl lock --pipe > /tmp/lock.$$ &
  exec 9< /tmp/lock.$$; rm /tmp/lock.$$
  read -r token <&9 || exit
  ...
  exec 9<&-
When the lock is lost, reading from 9 gives the end of the file.";

/// The same of `ringctl pause`.
pub(crate) const PAUSE: &str = "\
Exit codes:
  0  the node owns nothing, and will not until resume
  6  pending: it is to own nothing, but still does. A program works under the
     token (--drain), or no other member takes it: the token then stays here,
     and is granted to nobody, until one does

Examples:
  ringctl pause --persist && reboot            it does not own the token again
                                               until ringctl resume
  ringctl pause --drain --wait && apt upgrade  let the nightly job end first";

/// The same of `ringctl wait`.
pub(crate) const WAIT: &str = "\
Exit codes:
  0  the node is in that state
  1  it was not in the time that -w gives
  3  no ringd runs here, or it has ended";
