# Stand-in for functions.sh of sqm-scripts, with the functions that the scripts use, for tests on machines without
# sqm-scripts. SPDX-License-Identifier: MIT OR Apache-2.0

sqm_warn() { echo "WARNING: $*" >&2; }
sqm_debug() { :; }
do_modules() { :; }
verify_qdisc() { :; }
tc_wrapper() { run_quietly "$TC_BINARY" "$@"; }
ip_wrapper() { run_quietly "$IP_BINARY" "$@"; }

# SILENT=1 hides the output and the failure of the next command.
run_quietly() {
    if [ "$SILENT" = 1 ]; then
        SILENT=0
        "$@" >/dev/null 2>&1
    else
        "$@" || { echo "FAILED: $*" >&2; return 1; }
    fi
}

get_stab_string() { :; }
get_htb_adsll_string() { [ "$LLAM" = tc_stab ] || echo "overhead $OVERHEAD"; }
get_htb_quantum() { echo 1749; }
get_htb_burst() { echo burst 1749 cburst 1749; }
get_limit() { echo "limit ${1:-$LIMIT}"; }
get_target() { echo "target ${1:-5ms}"; }
get_ecn() { [ "$1" = ECN ] && echo ecn || echo noecn; }
