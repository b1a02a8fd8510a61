// What to do after an error, from the guide to the errors.

/** Returns the remediation of each code: what follows the first example in its section of `docs/errors.md`. */
export function remediationsOf(guide: string): Map<string, string> {
  const sections = guide.split('\n## ').slice(1);
  const found = sections.flatMap((section): [string, string][] => {
    const [code = '', ...paragraphs] = section.split('\n\n').map((part) => part.trim().replaceAll('\n', ' '));
    const [, own = ''] = paragraphs.join('\n').split(/^>.*$/m);
    const text = own.trim().replaceAll('\n', ' ');
    // The pages do not contain the guides that a link leads to.
    return /^[A-Z0-9_]+$/.test(code) ? [[code, text.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')]] : [];
  });
  return new Map(found);
}
