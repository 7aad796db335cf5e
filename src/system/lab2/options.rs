//! The command line of `ringd`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use ring_config::ConfigOption;
use ring_control::lab2::{Grade, parse_ethertype, ring_name};
use ring_control::{CONTROL_DIR, NodeName};
use ring_host::LogFormat;
use ring_host::trust::KeyOptions;
use ring_proto::lab2::{ConstantError, Constants, FOREVER};
use ring_runtime::BusyPoll;
use ring_text::{format_duration, parse_duration};

use crate::system::STATE_DIR;
use crate::system::interface::InterfaceRequest;
use crate::system::values::{parse_count, parse_hook_timeout};

/// The maximum time of polling after a frame.
const BUSY_POLL_MAX: Duration = Duration::from_secs(1);

const EXAMPLES: &str = concat!(
    "\
Durations are a number and a unit: ns, us, ms, s, m or h. Give all members of a ring the same \
constants; only --idle-hold and --prefer may differ. If an option is given twice, the last value counts.

",
    "Examples:\n",
    "  sudo ringd eth0                        join or start the ring on eth0\n",
    "  sudo ringd eth0 --heartbeat 10ms       find a dead owner ten times as fast\n",
    "  sudo ringd eth0 --idle-hold 0ms        rotate as fast as the machines allow\n",
    "  sudo ringd eth0 --idle-hold forever --on-change 'logger \"$RINGD_STATE\"'\n",
    "                                         write each new state to the system log\n",
    "  ringctl status                         show the state of the ring\n",
    "  sudo ringd eth0 --key-file /etc/ringd/ring.keys\n",
    "                                         sign frames, and accept only signed frames\n",
    "  sudo ringd -- ftn                      join the ring on the interface named ftn\n",
    "\nSignals:\n",
    "  SIGTERM, SIGINT  hand the token over, then exit; a second signal exits at once\n",
    "  SIGHUP           read the configuration file and the key file again; without a restart,\n",
    "                   these options change: accept-unsigned, forget-after, hook-timeout,\n",
    "                   hooks-dir, idle-hold, key-file, on-change, prefer, require, ring-size,\n",
    "                   verbose\n",
    "  SIGHUP, SIGQUIT  with a terminal: hand the token over, then exit\n",
    "  SIGUSR1          log the status\n",
    "\nEnvironment of a hook (unknown values are empty):\n",
    "  RINGD_EVENT         started, state_changed, grade_changed, member_silent, member_alive,\n",
    "                      lock_granted, lock_released, lock_lost or stopped\n",
    "  RINGD_EVENT_NUMBER  the event's number, as in ringctl watch\n",
    "  RINGD_OLD_STATE     the state before: OWNER, WAITER, LOOSER, GENERATING or none\n",
    "  RINGD_STATE         the state after\n",
    "  RINGD_REASON        the reason for the change, as in ringctl watch\n",
    "  RINGD_TOKEN         the token that the node holds, or else the newest known token:\n",
    "                      progress-author-number\n",
    "  RINGD_PROGRESS      the first part of the token\n",
    "  RINGD_OWNER         the MAC address of the token's owner, if it is known\n",
    "  RINGD_OWNER_NAME    the host name that the owner has announced\n",
    "  RINGD_GRADE         the grade of this node's token\n",
    "  RINGD_MEMBER        the member that is silent or heard again\n",
    "  RINGD_MEMBER_NAME   the host name that this member has announced\n",
    "  RINGD_OTHERS        the number of other members with the same change\n",
    "  RINGD_LOCK_NAME     the named lock that a program of this machine got, released or lost\n",
    "  RINGD_LOCK_MODE     the mode of this lock: exclusive or shared\n",
    "  RINGD_LOCK_GRADE    the grade that the program of this lock requires\n",
    "  RINGD_LOCK_TOKEN    the fencing token of this lock\n",
    "  RINGD_LOCK_PROGRAM  the label of the program of this lock\n",
    "  RINGD_MERGED        the number of earlier changes that are merged into this one,\n",
    "                      because hooks were too slow\n",
    "  RINGD_INTERFACE     the interface\n",
    "  RINGD_RING          the name of the ring for ringctl -i: the interface, or IFACE:TYPE\n",
    "  RINGD_TIME_MS       the time: milliseconds since 1970\n",
    "\nIf it has the permission, ringd runs at nice -10. So a busy machine does not lose the token.\n",
    "\nExit codes:\n",
    "  0  shut down cleanly\n",
    "  1  unexpected error, or a second signal\n",
    "  2  wrong usage, constants that cannot work together, or a key file that cannot be used\n",
    "  3  no such interface, without --wait-for-interface\n",
    "  4  not an Ethernet interface\n",
    "  5  no permission for packet sockets (CAP_NET_RAW)\n",
    "  6  another ringd runs on the interface\n",
    "  7  the state directory or file cannot be used\n",
    "  8  a socket for ringctl cannot be made\n",
    "  9  a state file was written by a newer ringd, belongs to another user, or is not\n",
    "     a state file"
);

/// Keep one token alive among the machines of a LAN segment.
///
/// ringd joins the ring on an Ethernet interface, or starts a ring. The daemon logs elected and lost owners, members,
/// grades and lost locks. Under systemd, log lines have priorities. There are no servers: members
/// find each other by broadcast, in frames with a special EtherType. If the segment splits, each side has a
/// token. With --ring-size, only the side with more than half of the members has a quorum: see ringctl run --require.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "ringd",
    version,
    args_override_self = true,
    after_long_help = EXAMPLES,
    after_help = "See --help for more."
)]
pub struct Options {
    /// Run the ring on this interface
    ///
    /// The interface may be Ethernet, veth, a bridge, a VLAN or macvlan. IFACE may be an alternative name of the
    /// interface.
    #[arg(value_name = "IFACE")]
    pub interface: String,

    /// The option that names the configuration file.
    #[command(flatten)]
    pub config: ConfigOption,

    /// Wait for IFACE if it does not exist yet
    ///
    /// The systemd units use this option. Without the option, ringd exits with code 3.
    #[arg(long)]
    pub wait_for_interface: bool,

    /// Set the time between announcements of the owner
    ///
    /// The minimum is 1ms. The option sets the constant HEART_BEAT_PERIOD.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "100ms",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub heartbeat: Duration,

    /// Count an owner as lost after this number of heartbeats
    ///
    /// If the owner is silent for this time, the members search for the token. If no member has the token, the members
    /// elect a new owner.
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 4,
        allow_negative_numbers = true,
        value_parser = parse_count::<u32>
    )]
    pub waiter_intervals: u32,

    /// Wait this number of heartbeats for an answer
    ///
    /// The option applies to questions that are broadcast.
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 1,
        allow_negative_numbers = true,
        value_parser = parse_count::<u32>
    )]
    pub answer_intervals: u32,

    /// Set the time within which a member must accept an offer
    ///
    /// The default is a twentieth of the heartbeat.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = parse_duration)]
    pub take_timeout: Option<Duration>,

    /// Offer the token this many times before skipping a member
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 3,
        allow_negative_numbers = true,
        value_parser = parse_count::<u32>
    )]
    pub take_attempts: u32,

    /// Keep the token for this time when the owner is idle
    ///
    /// The default is the time between two heartbeats. With 0ms, the token rotates at full speed. With forever, an
    /// owner keeps the token until it stops or dies, or until another member requests the token.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = parse_idle_hold)]
    pub idle_hold: Option<Duration>,

    /// Set the preference of this machine for the idle token
    ///
    /// The number is 0 to 255. An idle token rests with the present member that has the highest preference above 0,
    /// whatever its --idle-hold is. When this member comes back, it gets the idle token. Programs that want the token
    /// come first.
    #[arg(
        long,
        value_name = "PREFERENCE",
        default_value_t = 0,
        allow_negative_numbers = true,
        value_parser = parse_preference
    )]
    pub prefer: u8,

    /// Set the EtherType of the frames: 0x and hex, or decimal
    ///
    /// Rings with different EtherTypes can share a segment and an interface without noticing each other. Run one ringd
    /// for each ring. For example, query the second ring with ringctl -i eth0:0x88b6.
    #[arg(
        long,
        value_name = "TYPE",
        default_value = "0x88b5",
        allow_negative_numbers = true,
        value_parser = parse_ethertype
    )]
    pub ethertype: u16,

    /// Limit the number of members in the table
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 4096,
        allow_negative_numbers = true,
        value_parser = parse_count::<usize>
    )]
    pub max_members: usize,

    /// Forget a member after this time of silence
    ///
    /// With never, the ring keeps every member. The ring does not forget a silent member that another member still
    /// hears. A forgotten member does not count as known until it sends again. The command ringctl forget makes the
    /// ring forget a member at once.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "24h",
        allow_hyphen_values = true,
        value_parser = parse_forget_after
    )]
    pub forget_after: ForgetAfter,

    /// Set the number of members; a quorum is more than half
    ///
    /// Give all members the same number. If this member has heard more members since its start, it counts all heard
    /// members that have not left. Without --ring-size, it counts all members that it has heard of since its start.
    /// Without --ring-size, two halves of a split segment can both have a quorum. Two quorums are possible if the
    /// halves never met, or if a member restarted after the split.
    #[arg(
        long,
        alias = "expect",
        value_name = "COUNT",
        allow_negative_numbers = true,
        value_parser = parse_count::<usize>
    )]
    pub ring_size: Option<usize>,

    /// Require this grade for locks of clients that request none
    ///
    /// The daemon refuses clients that request a lower grade. So with quorum, every program of this machine gets a
    /// lock only with a quorum. The grades are those of ringctl run --require.
    #[arg(long, value_name = "GRADE", default_value = "alone", value_parser = parse_grade)]
    pub require: Grade,

    /// Look for frames and requests this long before sleeping
    ///
    /// To wake a sleeping daemon, the kernel needs more time than for the rest of a hop. A daemon that polls needs no
    /// wake-up, but uses a whole processor for DURATION after each frame or request. DURATION is at most 1s. With auto,
    /// the daemon polls only while frames and requests follow each other without a pause. For example, a
    /// token never rests, or a program takes locks again and again. On an idle ring, auto costs no processor time. The
    /// status shows the time of polling.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "off",
        allow_hyphen_values = true,
        value_parser = parse_busy_poll
    )]
    pub busy_poll: BusyPoll,

    /// The options for signed messages.
    #[command(flatten)]
    pub keys: KeyOptions,

    /// Keep data that must survive a restart in DIR/IFACE.state
    ///
    /// If --ethertype is not the default, the file is IFACE:TYPE.state, for example eth0:0x88b6.state.
    #[arg(long, value_name = "DIR", default_value = STATE_DIR)]
    pub state_dir: PathBuf,

    /// Create the socket for ringctl at this path
    ///
    /// The default is /run/ringd/IFACE.sock, or /run/ringd/IFACE:TYPE.sock if --ethertype is not the default.
    ///
    /// Next to it, the daemon creates a socket for programs that only read. Its name ends in .monitor.
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,

    /// Run this shell command at every change
    ///
    /// Changes are a new state or grade, a silent or returned member, and the daemon's start and end. The daemon
    /// does not wait for its hooks. Only one hook runs at a time: first this command, then the programs of --hooks-dir
    /// in order. Variables such as RINGD_STATE describe the change.
    #[arg(long, value_name = "CMD")]
    pub on_change: Option<String>,

    /// Run the programs in DIR at every change, in order
    ///
    /// ringd reads the directory at each change. The daemon skips files that are not executable, and names that begin
    /// with a dot. The daemon also skips files that editors and package managers leave behind: ~, .bak, .dpkg-old and
    /// so on.
    #[arg(long, value_name = "DIR", default_value = "/etc/ringd/hooks.d")]
    pub hooks_dir: PathBuf,

    /// End a hook that runs longer than DURATION
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "10s",
        allow_hyphen_values = true,
        value_parser = parse_hook_timeout
    )]
    pub hook_timeout: Duration,

    /// Set the format of log lines
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// Also log every turn of the token, and why frames are dropped
    #[arg(short, long)]
    pub verbose: bool,
}

impl Options {
    /// Returns the protocol's constants. Derives missing constants from the heartbeat.
    pub fn constants(&self) -> Constants {
        let derived = Constants::for_heartbeat(self.heartbeat);
        Constants {
            heartbeat: self.heartbeat,
            waiter_intervals: self.waiter_intervals,
            answer_intervals: self.answer_intervals,
            take_timeout: self.take_timeout.unwrap_or(derived.take_timeout),
            take_attempts: self.take_attempts,
            idle_hold: self.idle_hold.unwrap_or(derived.idle_hold),
            ethertype: self.ethertype,
            max_members: self.max_members,
            expect: self.ring_size,
            forget: self.forget_after.0,
        }
    }

    /// Checks that the options can work together.
    ///
    /// # Errors
    /// Fails if the options cannot work together.
    pub fn check(&self) -> Result<(), ring_host::Error> {
        self.keys.check()?;
        let checked = self.constants().check();
        checked.map_err(|error| unusable(&error))
    }

    /// Takes over the values that can change while the daemon runs.
    pub(super) fn adjust(&mut self, new: &Self) {
        self.forget_after = new.forget_after;
        self.idle_hold = new.idle_hold;
        self.keys.clone_from(&new.keys);
        self.prefer = new.prefer;
        self.require = new.require;
        self.ring_size = new.ring_size;
        self.verbose = new.verbose;
        self.on_change.clone_from(&new.on_change);
        self.hooks_dir.clone_from(&new.hooks_dir);
        self.hook_timeout = new.hook_timeout;
    }

    /// Returns the options that select the interface.
    pub(super) fn interface_request(&self) -> InterfaceRequest<'_> {
        InterfaceRequest {
            name: &self.interface,
            waits_if_missing: self.wait_for_interface,
            log_format: self.log_format,
        }
    }

    /// Returns the same options for an interface with another name.
    pub(super) fn with_interface(&self, interface: String) -> Self {
        Self {
            interface,
            ..self.clone()
        }
    }

    /// Returns the control socket's path.
    pub fn control_path(&self) -> PathBuf {
        match &self.control {
            Some(path) => path.clone(),
            None => self.ring().socket_path(Path::new(CONTROL_DIR)),
        }
    }

    /// Returns the ring's name on this machine.
    pub fn ring(&self) -> NodeName {
        ring_name(&self.interface, self.ethertype)
    }
}

fn unusable(error: &ConstantError) -> ring_host::Error {
    let remedy = match error {
        ConstantError::HandoverOutlastsWaiters { .. } => {
            "set fewer --take-attempts, a shorter --take-timeout, a longer --heartbeat or more \
             --waiter-intervals"
        }
        ConstantError::AnswerIntervals { .. } => {
            "set fewer --answer-intervals or more --waiter-intervals"
        }
        _ => "see ringd --help for the defaults",
    };
    ring_host::Error::Usage(format!("{error}; {remedy}"))
}

/// The time for which a silent member is kept; `None` means indefinitely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgetAfter(pub Option<Duration>);

fn parse_forget_after(text: &str) -> Result<ForgetAfter, String> {
    if text == "never" {
        return Ok(ForgetAfter(None));
    }
    parse_duration(text).map_or_else(
        |why| Err(format!("{why}; or never")),
        |after| Ok(ForgetAfter(Some(after))),
    )
}

fn parse_grade(text: &str) -> Result<Grade, String> {
    text.parse()
        .map_err(|_| "not a grade; give quorum or all-heard".to_owned())
}

fn parse_preference(text: &str) -> Result<u8, String> {
    text.parse()
        .map_err(|_| "not a preference: give a whole number from 0 to 255".to_owned())
}

fn parse_busy_poll(text: &str) -> Result<BusyPoll, String> {
    let duration = match text {
        "off" => return Ok(BusyPoll::Never),
        "auto" => return Ok(BusyPoll::Auto),
        text => parse_duration(text).map_err(|why| format!("{why}; or auto, or off"))?,
    };
    match duration {
        Duration::ZERO => Ok(BusyPoll::Never),
        _ if duration > BUSY_POLL_MAX => Err(format!(
            "longer than {}: the daemon would never sleep",
            format_duration(BUSY_POLL_MAX)
        )),
        _ => Ok(BusyPoll::For(duration)),
    }
}

fn parse_idle_hold(text: &str) -> Result<Duration, String> {
    match text {
        "forever" => Ok(FOREVER),
        text => parse_duration(text).map_err(|why| format!("{why}; or forever")),
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::lab2::{Constants, FOREVER};

    use super::Options;
    use clap::{CommandFactory, Parser};
    use ring_host::LogFormat;
    use ring_runtime::BusyPoll;
    use std::path::Path;
    use std::time::Duration;

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        Options::try_parse_from(["ringd"].iter().chain(arguments))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn an_interface_alone_gets_the_defaults() {
        let options = parse(&["eth0"]).unwrap();
        assert_eq!(options.interface, "eth0");
        assert_eq!(options.constants(), Constants::default());
        assert_eq!(options.state_dir, Path::new("/var/lib/ringd"));
        assert_eq!(options.control_path(), Path::new("/run/ringd/eth0.sock"));
        let other = parse(&["eth0", "--ethertype", "0x88b6"]).unwrap();
        let socket = Path::new("/run/ringd/eth0:0x88b6.sock");
        assert_eq!(other.control_path(), socket);
        assert_eq!(options.on_change, None);
        assert_eq!(options.hooks_dir, Path::new("/etc/ringd/hooks.d"));
        assert_eq!(options.hook_timeout, Duration::from_secs(10));
        assert_eq!(options.log_format, LogFormat::Text);
        assert!(!options.verbose);
    }

    #[test]
    fn take_timeout_and_idle_hold_follow_the_heartbeat() {
        let constants = parse(&["eth0", "--heartbeat", "1ms"]).unwrap().constants();
        assert_eq!(constants.take_timeout, Duration::from_micros(50));
        assert_eq!(constants.idle_hold, Duration::from_millis(1));
        assert_eq!(constants.check(), Ok(()));
    }

    #[test]
    fn all_options_are_read() {
        let given = concat!(
            "br0 --heartbeat 20ms --waiter-intervals 6 --answer-intervals 2 --take-timeout 3ms --take-attempts 5 ",
            "--idle-hold 0ms --prefer 7 --ethertype 0x88B6 --max-members 16 --ring-size 5 --forget-after never ",
            "--state-dir /s ",
            "--control /c.sock --hooks-dir /h --hook-timeout 3s --log-format json -v",
        );
        let mut arguments: Vec<_> = given.split_whitespace().collect();
        arguments.extend(["--on-change", "logger \"$RINGD_STATE\""]);
        let options = parse(&arguments).unwrap();
        let expected = Constants {
            heartbeat: Duration::from_millis(20),
            waiter_intervals: 6,
            answer_intervals: 2,
            take_timeout: Duration::from_millis(3),
            take_attempts: 5,
            idle_hold: Duration::ZERO,
            ethertype: 0x88b6,
            max_members: 16,
            expect: Some(5),
            forget: None,
        };
        assert_eq!(options.constants(), expected);
        assert_eq!(options.constants().check(), Ok(()));
        assert_eq!(options.prefer, 7);
        assert_eq!(options.state_dir, Path::new("/s"));
        assert_eq!(options.control_path(), Path::new("/c.sock"));
        assert_eq!(
            options.on_change.as_deref(),
            Some("logger \"$RINGD_STATE\"")
        );
        assert_eq!(options.hooks_dir, Path::new("/h"));
        assert_eq!(options.hook_timeout, Duration::from_secs(3));
        assert_eq!(options.log_format, LogFormat::Json);
        assert!(options.verbose);
    }

    #[test]
    fn the_last_value_of_a_repeated_option_counts() {
        let options = parse(&["eth0", "--ring-size", "3", "-v", "--expect=4", "-v"]).unwrap();
        assert_eq!(options.ring_size, Some(4));
        assert!(options.verbose);
    }

    #[test]
    fn only_idle_hold_may_be_forever() {
        let constants = parse(&["eth0", "--idle-hold", "forever"])
            .unwrap()
            .constants();
        assert_eq!((constants.idle_hold, constants.check()), (FOREVER, Ok(())));
        let error = parse(&["eth0", "--idle-hold", "always"]).unwrap_err();
        assert!(error.contains("or forever"), "{error}");
        assert!(parse(&["eth0", "--heartbeat", "forever"]).is_err());
        let constants = parse(&["eth0", "--idle-hold", "25h"]).unwrap().constants();
        assert!(constants.check().is_err());
    }

    #[test]
    fn a_time_of_polling_may_be_off_or_auto() {
        let polls = |text: &str| parse(&["eth0", "--busy-poll", text]).map(|it| it.busy_poll);
        assert_eq!(parse(&["eth0"]).unwrap().busy_poll, BusyPoll::Never);
        assert_eq!(polls("off"), Ok(BusyPoll::Never));
        assert_eq!(polls("0us"), Ok(BusyPoll::Never));
        assert_eq!(polls("auto"), Ok(BusyPoll::Auto));
        let microseconds = Duration::from_micros(50);
        assert_eq!(polls("50us"), Ok(BusyPoll::For(microseconds)));
        for (text, expected) in [("2s", "longer than 1 s"), ("on", "or auto, or off")] {
            let error = polls(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_time_limit_for_hooks_is_neither_0_nor_too_long() {
        for text in ["0s", "25h", "10"] {
            assert!(parse(&["eth0", "--hook-timeout", text]).is_err(), "{text}");
        }
    }

    #[test]
    fn unsigned_frames_are_accepted_only_in_addition_to_signed_frames() {
        let options = parse(&["eth0", "--accept-unsigned"]).unwrap();
        let error = options.check().unwrap_err().to_string();
        assert!(error.contains("needs --key-file"), "{error}");
        let options = parse(&["eth0", "--accept-unsigned", "--key-file", "/k"]).unwrap();
        assert!(options.check().is_ok());
        let error = parse(&["eth0", "--key-file", "credential:"]).unwrap_err();
        assert!(error.contains("LoadCredential="), "{error}");
    }

    #[test]
    fn a_wrong_number_is_explained() {
        for (option, value, expected_text) in [
            ("--ring-size", "-1", "not a count"),
            ("--ring-size", "x", "not a count"),
            ("--max-members", "1.5", "not a count"),
            ("--waiter-intervals", "-1", "not a count"),
            ("--answer-intervals", "-1", "not a count"),
            ("--take-attempts", "99999999999", "not a count"),
            ("--heartbeat", "-1", "cannot be negative"),
            ("--heartbeat", "-1s", "cannot be negative"),
            ("--idle-hold", "-1ms", "cannot be negative"),
            ("--prefer", "256", "from 0 to 255"),
            ("--ethertype", "-1", "not an EtherType"),
        ] {
            let error = parse(&["eth0", option, value]).unwrap_err();
            assert!(error.contains(expected_text), "{option} {value}: {error}");
        }
    }

    #[test]
    fn ethertypes_are_hexadecimal_or_decimal() {
        let decimal = parse(&["eth0", "--ethertype", "34997"]).unwrap();
        assert_eq!(decimal.ethertype, 0x88b5);
        for text in ["88b5", "0x188b5", "", "0x", "-1"] {
            let error = parse(&["eth0", &format!("--ethertype={text}")]).unwrap_err();
            assert!(error.contains("not an EtherType"), "{text}: {error}");
        }
    }

    #[test]
    fn help_names_every_default_and_exit_code() {
        let mut wide = Options::command().term_width(200);
        let help = wide.render_long_help().to_string();
        let words = "100ms 0x88b5 4096 /var/lib/ringd /run/ringd/IFACE.sock CAP_NET_RAW";
        let phrases = [
            "a twentieth of the heartbeat",
            "the time between two heartbeats",
            "  9  ",
        ];
        for word in words.split(' ').chain(phrases) {
            assert!(help.contains(word), "{word}");
        }
    }
}
