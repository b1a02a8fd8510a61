// Converts the contents of form fields to the options of an operation.

/** Returns the values without those that are undefined. */
export function defined<T extends object>(values: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}

/** Returns the trimmed text; undefined if it is empty. */
export function text(value: string): string | undefined {
  return value.trim() === '' ? undefined : value.trim();
}

/** Returns the trimmed lines that are not empty; undefined if there are none. */
export function lines(value: string): string[] | undefined {
  const found = value.split('\n').flatMap((line) => text(line) ?? []);
  return found.length > 0 ? found : undefined;
}

/** Returns the number; undefined if the field is empty. */
export function number(value: string): number | undefined {
  return value.trim() === '' ? undefined : Number(value);
}
