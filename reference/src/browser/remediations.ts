// Shows in the errors of an operation what each code means and what to do, from the page of the errors.

let errors: Promise<Document> | undefined;

/** Fills the errors of an operation when they are opened for the first time. */
export function showRemediations(): void {
  document.addEventListener('toggle', (event) => void fill(event), { capture: true });
}

async function fill({ target }: Event): Promise<void> {
  if (!(target instanceof HTMLDetailsElement) || !target.open || !target.matches('.errors:not(.filled)'))
    return;
  target.classList.add('filled');
  errors ??= read();
  const page = await errors;
  for (const link of target.querySelectorAll('dd a')) {
    const texts = page.getElementById(link.textContent)?.querySelectorAll('dd > p') ?? [];
    link.after(...[...texts].map((text) => document.importNode(text, true)));
  }
}

async function read(): Promise<Document> {
  const answer = await fetch('/docs/errors');
  return new DOMParser().parseFromString(await answer.text(), 'text/html');
}
