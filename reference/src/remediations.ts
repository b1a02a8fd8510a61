// What to do after an error, from the guide to the errors.

/** Returns the remediation of each code: what follows the example in its section of `docs/errors.md`. */
export function remediationsOf(guide: string): Map<string, string> {
  const sections = guide.split('\n## ').slice(1);
  const found = sections.flatMap((section): [string, string][] => {
    const [code = '', ...paragraphs] = section.split('\n\n').map((part) => part.trim().replaceAll('\n', ' '));
    const example = paragraphs.findLastIndex((paragraph) => paragraph.startsWith('>'));
    const text = paragraphs.slice(example + 1).join(' ');
    // The pages do not contain the guides that a link leads to.
    return /^[A-Z0-9_]+$/.test(code) ? [[code, text.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1').trim()]] : [];
  });
  return new Map(found);
}
