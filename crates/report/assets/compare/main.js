// The page of a comparison: the legend, and every chart in its place.
(() => {
  const { all, firstChoice, symbolType } = schemes;
  const { choice, drawLines } = lineCharts;
  const { drawRows } = rowCharts;
  const { drawNoticed } = noticedCharts;

  function sample(scheme) {
    const svg = d3.create("svg").attr("viewBox", "0 0 24 10").attr("width", 24).attr("height", 10).attr("aria-hidden", "true");
    svg.append("line").attr("x1", 0).attr("x2", 24).attr("y1", 5).attr("y2", 5)
      .attr("stroke-width", 2.5).attr("stroke-dasharray", scheme.dash).style("stroke", scheme.color);
    svg.append("path").attr("transform", "translate(12,5)").style("fill", "var(--surface)").style("stroke", scheme.color)
      .attr("stroke-width", 1.5).attr("d", d3.symbol(symbolType(scheme.symbol), 36));
    return svg.node();
  }

  function legend() {
    const buttons = all.map((scheme) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(sample(scheme), scheme.label);
      button.addEventListener("click", () => {
        if (!choice.shown.delete(scheme)) choice.shown.add(scheme);
        update();
      });
      const highlight = (on) => () => {
        const wanted = on && choice.shown.has(scheme) ? scheme : null;
        if (wanted !== choice.highlighted) {
          choice.highlighted = wanted;
          drawLines();
        }
      };
      button.addEventListener("mouseenter", highlight(true));
      button.addEventListener("mouseleave", highlight(false));
      return button;
    });
    const choose = (text, chosen) => {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: text });
      button.addEventListener("click", () => {
        choice.shown = new Set(chosen);
        update();
      });
      return button;
    };
    const update = () => {
      choice.highlighted = null;
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", choice.shown.has(all[i])));
      drawLines();
    };
    const choices = [choose("all", all), choose("none", [])];
    if (all.length > firstChoice.length) choices.splice(1, 0, choose("selection", firstChoice));
    document.getElementById("legend").replaceChildren(...buttons, ...(all.length > 1 ? choices : []));
    update();
  }

  tools.themeButton();
  tools.copyButtons();
  if (!all.length) return;
  for (const part of document.querySelectorAll(".scripted")) part.hidden = false;
  for (const table of document.querySelectorAll("table.sortable")) tools.sortable(table);
  tools.scrollCues();
  tools.downloads("gentle");
  legend();
  // A single scheme has nothing to stand beside; the page then has no such charts.
  const several = document.getElementById("headline") !== null;
  if (several) {
    drawRows();
    document.getElementById("sort").addEventListener("change", drawRows);
  }
  drawNoticed();
  charts.onWidth(() => {
    drawNoticed();
    if (several) drawRows();
    drawLines();
  });
})();
