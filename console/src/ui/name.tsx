// Texts that somebody else chose, within sentences.

import type { ComponentChildren } from 'preact';

/** A label, a name or an id. Whatever directions of writing are in it, the sentence around it stays as it is. */
export function Name({ of }: { of: ComponentChildren }) {
  return <bdi>{of}</bdi>;
}
