RINGCTL_COMPLETE=fish ringctl | source
