// A bar for a size. It is for the eyes only: the text beside it has the number.

/** A bar with two parts, each a part of `most`: what is `own`, and what is `shared` with others. The title is its tooltip. */
export function Bar({
  own,
  shared = 0,
  most,
  title,
}: {
  own: number;
  shared?: number;
  most: number;
  title?: string;
}) {
  const part = (bytes: number) => `${most > 0 ? (bytes / most) * 100 : 0}%`;
  return (
    <span
      class="bar"
      aria-hidden="true"
      title={title}
      style={{ '--own': part(own), '--end': part(own + shared) }}
    />
  );
}
