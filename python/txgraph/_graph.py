"""Graphs, and their way into other graph libraries."""

from __future__ import annotations

import html
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _native, _options
from ._errors import Error
from ._table import Table

#: Vertices that a notebook draws at most; more are listed.
_DRAWN_MAX = 300

#: Attributes of transfers, and of merged edges. A graph of igraph has them also without edges.
_ATTRIBUTES = (
    "block_number block_timestamp transaction_index log_index sub_index transaction_hash "
    "token_address token_standard value token_id kind hop",
    "token_address token_standard count sum first_block last_block first_timestamp "
    "last_timestamp hop",
)


class Graph:
    """The graph around some addresses.

    Vertices are addresses, numbered from 0 by hop and address. Edges are transfers, in the order
    of the chain; parallel transfers are parallel edges. Amounts are exact integers in the
    smallest unit of the token.
    """

    def __init__(self, native: _native.Graph) -> None:
        self._native = native

    @property
    def nodes(self) -> Table:
        """One row for each vertex: ``id`` (20 bytes), ``label``, ``hop``, ``root``, ``expansion``,
        degrees, numbers of transfers, first and last block."""
        return Table(self._native.nodes())

    @property
    def edges(self) -> Table:
        """One row for each transfer: the columns of :class:`Transfers`, and ``hop``."""
        return self.edge_table()

    def edge_table(
        self,
        *,
        merge: bool = False,
        columns: Union[None, str, Sequence[str]] = None,
        **replaced: Any,
    ) -> Table:
        """The edges as a table.

        :param merge: one row for all transfers of a token from one address to another, with
            ``count`` and ``sum`` (smallest unit)
        :param columns: as in :meth:`Node.transfers`; with ``merge`` only types of all columns
        """
        return Table(self._native.edges(_options.query(locals())))

    @property
    def num_nodes(self) -> int:
        """The number of addresses."""
        return self._native.size()[0]

    @property
    def num_edges(self) -> int:
        """The number of transfers."""
        return self._native.size()[1]

    @property
    def roots(self) -> List[int]:
        """The numbers of the vertices that the search started from."""
        return self._native.roots()

    @property
    def limits(self) -> List[Dict[str, Any]]:
        """The limits that cut the search short; empty if the graph is complete."""
        return json.loads(self._native.limits())

    @property
    def scan(self) -> Dict[str, Any]:
        """What was read: ``covered`` blocks, ``missing`` ones, counts, caveats."""
        return json.loads(self._native.scan())

    def to_networkx(self, *, merge: bool = False) -> Any:
        """A ``networkx.MultiDiGraph``. Its nodes are integers with the attribute ``address``, which
        takes much less memory than addresses as keys."""
        import networkx

        graph = networkx.MultiDiGraph()
        graph.add_nodes_from(enumerate(self._native.node_list()))
        for edges in self._native.edge_parts(merge):
            graph.add_edges_from(edges)
        return graph

    def to_rustworkx(self, *, merge: bool = False) -> Any:
        """A ``rustworkx.PyDiGraph`` with dictionaries as weights of nodes and edges."""
        import rustworkx

        graph = rustworkx.PyDiGraph(multigraph=True)
        graph.add_nodes_from(self._native.node_list())
        for edges in self._native.edge_parts(merge):
            graph.add_edges_from(edges)
        return graph

    def to_igraph(self, *, merge: bool = False) -> Any:
        """A directed ``igraph.Graph`` with the attributes of nodes and edges."""
        import igraph

        nodes = self._native.node_list()
        ends: List[Tuple[int, int]] = []
        columns: Dict[str, List[Any]] = {name: [] for name in _ATTRIBUTES[merge].split()}
        for edges in self._native.edge_parts(merge):
            ends.extend((source, target) for source, target, _ in edges)
            for name, values in columns.items():
                values.extend(data[name] for _, _, data in edges)
        graph = igraph.Graph(n=len(nodes), edges=ends, directed=True)
        for name in nodes[0] if nodes else []:
            graph.vs[name] = [node[name] for node in nodes]
        for name, values in columns.items():
            graph.es[name] = values
        return graph

    def write(
        self,
        *paths: Union[str, "os.PathLike[str]"],
        overwrite: bool = False,
        merge: bool = False,
        layout: Optional[str] = None,
        fold: Optional[Union[str, int]] = None,
        link: Optional[str] = None,
        prices: Optional[Union[str, "os.PathLike[str]"]] = None,
        token_list: Any = None,
    ) -> List[str]:
        """Writes files, whose extensions choose the formats: csv, jsonl, parquet, arrow, json,
        dot, svg, png, html, graphml, gexf, gs (GraphSense). Pictures need Graphviz.

        :param layout: of pictures: ``"auto"``, ``"hops"``, ``"radial"``, ``"force"``
        :param fold: similar leaves that stay, or ``"auto"`` or ``"off"``
        :param link: where a click leads, with ``{address}`` or ``{tx}``
        :param prices: of pictures: file with prices of tokens, which make widths of arrows values
        :param token_list: files with symbols and decimals
        :returns: what a reader must know about the form of the files
        """
        options = {
            "output": [_options.text("path", path) for path in paths],
            "overwrite": _options.flag("overwrite", overwrite),
            "merge": _options.flag("merge", merge),
            "layout": _options.optional("layout", layout),
            "fold": _options.optional("fold", fold),
            "link": _options.optional("link", link),
            "prices": _options.optional("prices", prices),
            "token_list": _options.texts("token_list", token_list),
        }
        if not paths:
            raise TypeError("write needs the path of a file")
        return self._native.write(_options.dump(options))

    def to_html(
        self, path: Optional[Union[str, "os.PathLike[str]"]] = None, **options: Any
    ) -> str:
        """The picture as an HTML page with search, details and a range of time. Written to
        ``path`` if one is given, with the options of :meth:`write`."""
        if path is not None:
            self.write(path, **options)
            return Path(path).read_text(encoding="utf-8")
        return self._drawn("graph.html", **options)

    def to_svg(self, **options: Any) -> str:
        """The picture as SVG."""
        return self._drawn("graph.svg", **options)

    def _drawn(self, name: str, **options: Any) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            self.write(path, **options)
            return path.read_text(encoding="utf-8")

    def _repr_html_(self) -> str:
        about = html.escape(repr(self))
        if self.num_nodes > _DRAWN_MAX:
            return f"<p>{about}</p><p>Too large to draw here: write it with to_html().</p>"
        try:
            page = self.to_html()
        except Error as error:
            return f"<p>{about}</p><p>{html.escape(str(error))}</p>"
        frame = html.escape(page, quote=True)
        return (
            f"<p>{about}</p>"
            '<iframe sandbox="allow-scripts" style="width:100%;height:480px;border:0" '
            f'srcdoc="{frame}"></iframe>'
        )

    def __repr__(self) -> str:
        cut = ", cut short by limits" if self.limits else ""
        gaps = ", blocks are missing" if self.scan.get("missing") else ""
        return (
            f"<txgraph.Graph of {self.num_nodes:,} addresses and "
            f"{self.num_edges:,} transfers{cut}{gaps}>"
        )


class Analysis:
    """A measure of a graph, or of all transfers that match a selection."""

    def __init__(self, tables: Dict[str, Table], result: Any) -> None:
        #: The tables by name, the main one first. Amounts are in the smallest unit.
        self.tables = tables
        #: The whole result.
        self.result = result

    @property
    def table(self) -> Table:
        """The main table."""
        return next(iter(self.tables.values()))

    def __repr__(self) -> str:
        return f"<txgraph.Analysis with the tables {', '.join(self.tables)}>"
