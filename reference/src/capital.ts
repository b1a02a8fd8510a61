// Titles from words.

/** Writes the first letter of a word in upper case. */
export function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
