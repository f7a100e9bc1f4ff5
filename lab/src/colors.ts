// Colours of the schemes, as on every page of gentle (crates/report/assets/palette.json).

import palette from "../../crates/report/assets/palette.json";

/** Gives both sides the colours of their schemes, each a name with options; unknown ones keep the sides' own. */
export function showColors(schemes: string[]) {
  schemes.forEach((text, side) => {
    const scheme = palette.schemes.find(({ name }) => name === text.split(" ")[0]);
    const color = palette.colors.find(({ name }) => name === scheme?.color);
    const variable = side ? "--b" : "--a";
    if (color) document.documentElement.style.setProperty(variable, `light-dark(${color.light}, ${color.dark})`);
    else document.documentElement.style.removeProperty(variable);
  });
}
