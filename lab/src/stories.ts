// Stories: scenes that each show one thing.
import { FIRST, type Scene } from "./scene";
import type { Sight } from "./protocol";

export interface Story {
  id: string;
  title: string;
  /** Hint for the viewer. */
  text: string;
  scene: Scene;
  speed: number;
  /** The event on the left that the text promises; the story starts shortly before the first one after `after` seconds. */
  sight: Sight;
  after: number;
}

const GSP = `title = "Ten downloads through one queue"
source = "a story of gentle lab"
duration = "120s"

[link.down]
rate = "10mbit"
delay = "20ms"

[link.up]
rate = "10mbit"
delay = "20ms"

[[workload]]
kind = "long"
flows = 10
start = ["0s", "2s"]
rtt = ["40ms", "120ms"]
`;

const FLOOD = `title = "Pages during a SYN flood"
source = "a story of gentle lab"
duration = "120s"

[link.down]
rate = "2.4mbit"
delay = "42ms"

[link.up]
rate = "400kbit"
delay = "52ms"

[[workload]]
kind = "poisson"
gap = "250ms"
size = { zipf = 1.7, max = 200 }

[[workload]]
kind = "syn_flood"
rate = "1mbit"
start = "10s"
`;

const CALL = `title = "A call and a download"
source = "a story of gentle lab"
duration = "120s"

[link.down]
rate = "10mbit"
delay = "10ms"

[link.up]
rate = "2mbit"
delay = "10ms"

[[workload]]
kind = "voice"
calls = 1

[[workload]]
kind = "long"
flows = 1
initiator = "receiver"

[[workload]]
kind = "poisson"
gap = "1s"
size = { segments = 3 }
`;

const scene = (change: Partial<Scene>): Scene => ({ ...FIRST, ...change });

export const STORIES: Story[] = [
  {
    id: "home", title: "An evening at home", speed: 0.2, sight: "late-datagram", after: 150, scene: scene({ traffic: "home-evening", a: "pfifo limit=1000", b: "cake" }),
    text: "A film, two calls, a game and web pages share one line while a computer downloads an update. On the left is the long queue of a router without queue management: every packet of the calls and the game (circles) waits behind the download. On the right cake gives each computer and each transfer a fair turn.",
  },
  {
    id: "hang", title: "The page that hangs for a second", speed: 0.2, sight: "handshake-drop", after: 20, scene: FIRST,
    text: "Watch for a red cross on a red triangle: the left queue is full, and drops a SYN, the packet that opens a connection. Its sender waits a whole second before it tries again. On the right, the same SYN goes first.",
  },
  {
    id: "pie", title: "Why PIE loses SYNs", speed: 0.2, sight: "handshake-drop", after: 20, scene: scene({ a: "pie", b: "spa" }),
    text: "PIE keeps the queue short: it drops packets at random before the queue is full. All packets are alike to it, so it also drops SYNs. A lost data packet costs milliseconds, a lost SYN a second.",
  },
  {
    id: "fin", title: "The FIN that overtakes its data", speed: 0.2, sight: "fin-overtakes", after: 20, scene: scene({ a: "spa published", b: "spa" }),
    text: "As published, SPA sends FINs first, too. Watch a narrow bar on the left: a FIN leaves before the last data of its own connection, which looks like a loss to the receiver. On the right, FINs stay behind their data.",
  },
  {
    id: "gsp", title: "Ten flows that back off together", speed: 1, sight: "burst-of-drops", after: 15, scene: scene({ traffic: "", toml: GSP, a: "pfifo limit=100", b: "gsp limit=100" }),
    text: "The left queue overflows: many flows lose packets at once, slow down together, and leave the link idle. GSP drops one packet at a time before the queue is full, so the flows slow down one after another. Compare the waves in the time in the queue.",
  },
  {
    id: "flood", title: "A SYN flood", speed: 0.2, sight: "flood", after: 0, scene: scene({ traffic: "", toml: FLOOD, a: "spa", b: "fq_codel" }),
    text: "Hollow triangles are SYNs of a flood, to an address that never answers. A queue that sends every SYN first also sends the flood first. See how little is left for the pages.",
  },
  {
    id: "call", title: "A call and a download", speed: 0.2, sight: "late-datagram", after: 10, scene: scene({ traffic: "", toml: CALL, a: "pfifo limit=400", b: "fq_codel" }),
    text: "The download fills any buffer that it finds. On the left the packets of the call (circles) wait behind it for more than a tenth of a second: bufferbloat. On the right each flow has its own queue.",
  },
];
