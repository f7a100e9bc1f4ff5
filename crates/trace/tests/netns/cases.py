"""What each connection does and which of its packets are lost.

Packets of a kind are numbered from 0, retransmissions included, where the router would forward them. Kinds are as in
`KINDS`: what the client sends is `syn`, `ack` (pure acknowledgements, the first being the handshake's), `data`, `fin`;
what the server sends is `synack`, `reply` (data) and `server_fin`.
"""

from dataclasses import dataclass, field

# A segment with data, in any case of these, makes a packet longer than this, and no other does.
DATA = 200

# nftables matches for the packets of each kind; {} is the server's port.
KINDS = {
    "syn": "tcp dport {} tcp flags & (syn | ack) == syn",
    "synack": "tcp sport {} tcp flags & (syn | ack) == (syn | ack)",
    "ack": f"tcp dport {{}} tcp flags == ack meta length <= {DATA}",
    "data": f"tcp dport {{}} meta length > {DATA}",
    "reply": f"tcp sport {{}} meta length > {DATA}",
    "fin": "tcp dport {} tcp flags & fin == fin",
    "server_fin": "tcp sport {} tcp flags & fin == fin",
}

ALL = "all"


@dataclass
class Case:
    name: str
    what: str
    # Kind to the numbers of the packets that the router drops, or ALL.
    lost: dict = field(default_factory=dict)
    # upload: the client sends and closes first; download: the server does; abort: the client sends and resets;
    # reuse: three uploads from the same port; connect: the attempt is meant to fail.
    does: str = "upload"
    bytes: int = 1400
    # Whether anybody listens.
    listens: bool = True
    # SYNs after the first before the client gives up (TCP_SYNCNT).
    retries: int | None = None
    ipv6: bool = False
    # Captures kept from these places in addition to client, router and server.
    also: tuple = ()


# More than the initial window, so that acknowledgements clock the rest out and the FIN travels on the last segment.
TWENTY_SEGMENTS = 20 * 1400
# Less than the initial window, so that all leave at once and the FIN travels alone.
SIX_SEGMENTS = 6 * 1400

CASES = [
    Case("plain", "nothing is lost", also=("any", "span", "trunk")),
    Case("syn", "the first SYN", {"syn": [0]}, also=("any", "span", "trunk")),
    Case("syn-3", "the first three SYNs", {"syn": [0, 1, 2]}),
    Case("synack", "the first SYN/ACK", {"synack": [0]}, also=("any", "span", "trunk")),
    Case("synack-2", "the first two SYN/ACKs", {"synack": [0, 1]}),
    Case("syn-synack", "the first SYN and the first SYN/ACK", {"syn": [0], "synack": [0]}),
    Case("ack-data", "the handshake's ACK; data follows at once", {"ack": [0]}),
    Case("ack-silent", "the handshake's ACK; the server is to speak first", {"ack": [0]}, "download"),
    Case("data", "the third data segment of twenty", {"data": [2]}, bytes=TWENTY_SEGMENTS, also=("span",)),
    Case("data-3", "the second, seventh and eighth data segment of twenty", {"data": [1, 6, 7]}, bytes=TWENTY_SEGMENTS),
    Case("data-tail", "the only data segment, and its first retransmission", {"data": [0, 1]}),
    Case("reply", "the fifth data segment of the server's twenty", {"reply": [4]}, "download", TWENTY_SEGMENTS),
    Case("fin", "the client's FIN", {"fin": [0]}),
    Case("fin-both", "both FINs", {"fin": [0], "server_fin": [0]}),
    Case("syn-data-fin", "a SYN, a data segment and a FIN", {"syn": [0], "data": [3], "fin": [0]}, bytes=SIX_SEGMENTS),
    Case("refused", "nothing is lost, nobody listens", does="connect", listens=False),
    Case("unanswered", "every SYN", {"syn": ALL}, "connect", retries=3),
    Case("half-open", "every SYN/ACK", {"synack": ALL}, "connect", retries=2),
    Case("abort", "nothing is lost, the client closes with an RST", does="abort"),
    Case("reuse", "the second SYN; three connections from the same port", {"syn": [1]}, "reuse"),
    Case("ipv6", "nothing is lost", ipv6=True, also=("trunk",)),
    Case("ipv6-syn", "the first SYN", {"syn": [0]}, ipv6=True),
    Case("ipv6-synack", "the first SYN/ACK", {"synack": [0]}, ipv6=True),
    Case("ipv6-data", "the third data segment of twenty", {"data": [2]}, bytes=TWENTY_SEGMENTS, ipv6=True),
]

FIRST_PORT = 5001
PORTS = {case.name: FIRST_PORT + number for number, case in enumerate(CASES)}
