// From what stands in a form to the options of an operation.

/** The values that are given. */
export function given<T extends object>(values: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}

/** A text; undefined where there is none. */
export function text(value: string): string | undefined {
  return value.trim() === '' ? undefined : value.trim();
}

/** Lines, without the empty ones; undefined where there is none. */
export function lines(value: string): string[] | undefined {
  const given = value.split('\n').flatMap((line) => text(line) ?? []);
  return given.length > 0 ? given : undefined;
}

/** A number; undefined where there is none. */
export function number(value: string): number | undefined {
  return value.trim() === '' ? undefined : Number(value);
}
