RINGD_COMPLETE=fish ringd | source
