// A bar for a size. It is for the eyes only: the text beside it has the number.

/** A bar with two parts, each a part of `most`: what is `own`, and what is `shared` with others. */
export function Bar({ own, shared = 0, most }: { own: number; shared?: number; most: number }) {
  const part = (bytes: number) => `${most > 0 ? (bytes / most) * 100 : 0}%`;
  return <span class="bar" aria-hidden="true" style={{ '--own': part(own), '--end': part(own + shared) }} />;
}
