// A scenario file in an address: compressed, then in letters that an address may contain.

const base64 = (bytes: Uint8Array) =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function bytes(text: string): Uint8Array<ArrayBuffer> {
  const raw = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(raw, (letter) => letter.charCodeAt(0));
}

/** Longest scenario in an address, bytes: twenty times the longest of the papers. A short address can stand for gigabytes. */
const LONGEST = 1_000_000;

export class TooLong extends Error {
  constructor() {
    super(`The scenario in the address is longer than ${LONGEST.toLocaleString("en")} bytes. Ask for the file, and open it here.`);
  }
}

async function through(data: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const output = new Blob([data]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for (const reader = output.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > LONGEST) {
      await reader.cancel();
      throw new TooLong();
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

export const pack = async (text: string) => base64(await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw")));
export const unpack = async (packed: string) => new TextDecoder().decode(await through(bytes(packed), new DecompressionStream("deflate-raw")));
