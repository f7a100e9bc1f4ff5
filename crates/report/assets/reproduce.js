// The page of a reproduced paper, and the index of several: the charts are there already, buttons are added.
tools.themeButton();
tools.copyButtons();
tools.scrollCues();
tools.downloads("gentle-reproduce");
