// A scene with its files as text for a link: JSON, compressed, in the letters that links may have.

const through = async (bytes, stream) =>
  new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

const letters = (bytes) => {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
};

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** A scene as text. */
export async function pack({ path, files }) {
  const plain = Object.fromEntries([...files].map(([name, bytes]) => [name, letters(bytes)]));
  const packed = await through(
    new TextEncoder().encode(JSON.stringify({ path, files: plain })),
    new CompressionStream("deflate-raw"),
  );
  return letters(packed).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The scene that a text is. */
export async function unpack(text) {
  const packed = bytesOf(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = await through(packed, new DecompressionStream("deflate-raw"));
  const { path, files } = JSON.parse(new TextDecoder().decode(bytes));
  return { path, files: new Map(Object.entries(files).map(([name, plain]) => [name, bytesOf(plain)])) };
}
