# Stand-in for defaults.sh of sqm-scripts, with the variables that the scripts use.
# SPDX-License-Identifier: MIT OR Apache-2.0
: "${LIMIT:=1001}" "${IECN:=ECN}" "${EECN:=NOECN}" "${OVERHEAD:=0}" "${LLAM:=default}"
: "${TC:=tc_wrapper}" "${TC_BINARY:=$(command -v tc)}" "${IP:=ip_wrapper}" "${IP_BINARY:=$(command -v ip)}"
SILENT=0
