// The page of the errors, which other pages read the meanings and remediations of codes from.

let page: Promise<Document> | undefined;

/** Loads the page of the errors, once. */
export function errorsPage(): Promise<Document> {
  page ??= fetch('/docs/errors')
    .then((answer) => answer.text())
    .then((text) => new DOMParser().parseFromString(text, 'text/html'));
  return page;
}

/** Returns the remediations on the page of the errors, by the codes. */
export function remediationsOn(page: Document): Map<string, string> {
  const texts = page.querySelectorAll('[id] > dd > p + p');
  return new Map([...texts].map((text) => [text.closest('[id]')?.id ?? '', text.textContent.trim()]));
}
