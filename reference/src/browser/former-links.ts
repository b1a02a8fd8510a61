// Links to the former single page: `/docs#v1-snapshot`, `/docs#type-Summary`, `/docs#NAME_TAKEN`.

import { INDEX } from './index.ts';

/** Goes to the page that has the target of such a link now. */
export function followFormerLink(): void {
  if (location.pathname !== '/docs' || location.hash === '') return;
  const target = INDEX.find(({ url }) => url.endsWith(location.hash));
  if (target) location.replace(target.url);
}
