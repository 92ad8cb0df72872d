/** Makes the value when it is asked for first, and lets go of what it is made from. */
export function once<T>(make: () => T): () => T {
  let maker: (() => T) | undefined = make;
  let made: T | undefined;
  return () => {
    if (maker !== undefined) {
      made = maker();
      maker = undefined;
    }
    return made as T;
  };
}
