// Shows in the errors of an operation what each code means and what to do, from the page of the errors.

import { errorsPage } from './errors-page.ts';

/** Fills the errors of an operation when they are opened for the first time. */
export function showRemediations(): void {
  document.addEventListener('toggle', (event) => void fill(event), { capture: true });
}

async function fill({ target }: Event): Promise<void> {
  if (!(target instanceof HTMLDetailsElement) || !target.open || !target.matches('.errors:not(.filled)'))
    return;
  target.classList.add('filled');
  const page = await errorsPage();
  for (const link of target.querySelectorAll('dd a')) {
    const texts = page.getElementById(link.textContent)?.querySelectorAll('dd > p') ?? [];
    link.after(...[...texts].map((text) => document.importNode(text, true)));
  }
}
