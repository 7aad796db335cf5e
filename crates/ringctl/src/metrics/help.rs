//! Long help texts about metrics.

pub(crate) const METRICS: &str = concat!(
    "\
Prints one snapshot, for example for the textfile collector of node_exporter. If the \
daemon does not answer within 2 s, the output contains only ringd_up 0. Standard error \
then has the reason.

",
    "Examples:\n",
    "  ringctl metrics                          print all metrics\n",
    "  ringctl -i eth0 metrics                  print the metrics of the ringd on eth0\n",
    "  ringctl metrics | grep ringd_members     print the numbers of members\n",
    "\nExit codes:\n",
    "  0  done, also if the daemon does not answer\n",
    "  1  the output cannot be written\n",
    "  2  wrong usage\n",
    "  4  several ringd run here: choose one with -i"
);

pub(super) const EXPORTER: &str = concat!(
    "\
Serves the metrics at http://ADDRESS/metrics, and asks the daemon once per request. If \
the daemon does not answer within 2 s, the answer contains only ringd_up 0. The \
exporter needs the right to use the monitor socket, and no other right.

",
    "Examples:\n",
    "  ringctl exporter                         serve http://127.0.0.1:9464/metrics\n",
    "  ringctl -i eth0 exporter                 serve the metrics of the ringd on eth0\n",
    "  curl http://127.0.0.1:9464/metrics       read the metrics\n",
    "  ringctl exporter --listen 192.0.2.1:9464\n",
    "                                           serve other machines\n",
    "\nExit codes:\n",
    "  1  the address cannot be used\n",
    "  2  wrong usage\n",
    "  4  several ringd run here: choose one with -i"
);
