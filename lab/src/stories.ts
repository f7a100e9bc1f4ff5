// Stories: scenes that each show one thing.
import { FIRST, type Scene } from "./address";

export interface Story {
  id: string;
  title: string;
  /** Hint for the viewer. */
  text: string;
  scene: Scene;
  speed: number;
  /** Seconds after which the story begins to be shown. */
  from: number;
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
    id: "hang", title: "The page that hangs for a second", speed: 0.2, from: 88, scene: FIRST,
    text: "Both sides carry the same connections. On the left a full queue drops every arrival, including SYNs, the packets that open connections; a host that gets no answer to its SYN waits a whole second. SPA serves SYNs first and drops none. Watch for a red cross on a red triangle.",
  },
  {
    id: "pie", title: "Why PIE loses SYNs", speed: 0.2, from: 65, scene: scene({ a: "pie", b: "spa" }),
    text: "PIE keeps the queue short: it drops packets at random before the queue is full, more often the longer they wait. It treats all packets alike, so a SYN is as likely to be dropped as one of a thousand data packets, but costs a second instead of a few milliseconds.",
  },
  {
    id: "fin", title: "The FIN that overtakes its data", speed: 0.2, from: 88, scene: scene({ a: "spa published", b: "spa" }),
    text: "As published, SPA sends FINs first, too. A FIN that overtakes the last data packets of its own connection arrives too early, which looks like a loss to the receiver. By default here, FINs stay behind their data.",
  },
  {
    id: "gsp", title: "Ten flows that back off together", speed: 1, from: 15, scene: scene({ traffic: "", toml: GSP, a: "pfifo limit=100", b: "gsp limit=100" }),
    text: "When a queue overflows, many flows lose packets at the same time, slow down together, and leave the link idle. GSP drops one packet at a time, before the queue is full, so that the flows slow down one after another. Compare the waves in the time in the queue.",
  },
  {
    id: "flood", title: "A SYN flood", speed: 0.2, from: 12, scene: scene({ traffic: "", toml: FLOOD, a: "spa", b: "fq_codel" }),
    text: "Hollow triangles are SYNs of a flood, to an address that never answers. A scheme that serves every SYN first also serves the flood first; see how much capacity is left for the pages.",
  },
  {
    id: "call", title: "A call and a download", speed: 0.2, from: 20, scene: scene({ traffic: "", toml: CALL, a: "pfifo limit=400", b: "fq_codel" }),
    text: "The download fills any buffer that it finds. In one long queue the packets of the call (circles) wait behind it: bufferbloat. A scheme with a queue for each flow serves them in between.",
  },
];
