"""The public names of plotting, as in `hf_symbinv/__init__.pyi`."""

from .curves import Series as Series
from .curves import draw_by_symbols as draw_by_symbols
from .figures import PictureError as PictureError
from .figures import save_picture as save_picture
from .heatmap import draw_heatmaps as draw_heatmaps
from .heatmap import save_heatmaps as save_heatmaps
from .learning import save_learning_curve as save_learning_curve
from .timeline import Timeline as Timeline
from .timeline import draw_timeline as draw_timeline
