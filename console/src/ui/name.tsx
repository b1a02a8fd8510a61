// Names that users chose, within sentences.

import type { ComponentChildren } from 'preact';

/** A label, a name or an id. Its text direction does not affect the sentence around it. */
export function Name({ of }: { of: ComponentChildren }) {
  return <bdi>{of}</bdi>;
}
