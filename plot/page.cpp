#include "plot/page.hpp"

namespace laird::plot {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:
        // Control bytes have no place in a page.
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string colour_of(int number) {
  if (number == kInk) return "var(--fg)";
  if (number >= kMany) return "var(--m" + std::to_string((number - kMany) % kManyColours) + ")";
  return "var(--c" + std::to_string(number % kPlotColours) + ")";
}

std::string broad_and_narrow(std::string_view broad, std::string_view narrow) {
  return "<div class=broad>" + std::string(broad) + "</div><div class=narrow>" +
         std::string(narrow) + "</div>";
}

std::string_view style() {
  static constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--bg:#fff;--fg:#1c2430;--soft:#5c6675;--line:#e3e7ee;--card:#f6f8fb;
--c0:#2f6fde;--c1:#e07b2e;--c2:#1f9d6b;--c3:#c0447c;--c4:#7d5bd0;--c5:#a98600;--c6:#1f9fb5;--c7:#75808f;
--m0:#2f8adc;--m1:#923002;--m2:#cbb528;--m3:#e491e9;--m4:#036453;--m5:#6e3692;--m6:#0acec7;
--m7:#b87501;--m8:#019f68;--m9:#bf5da2;--m10:#8e71d6;--m11:#2b4ea7;--m12:#902559;--m13:#71cd76;
--m14:#d15c56;--m15:#848f02;--m16:#fc984c;--m17:#4ac1fe;--m18:#0d98a4;--m19:#6d5001;
--m20:#3e6102;--m21:#fe8da0;--m22:#005f75;--m23:#a5acfe}
@media(prefers-color-scheme:dark){:root{--bg:#12161c;--fg:#e7ebf1;--soft:#98a3b3;--line:#2a313c;
--card:#1a2029;--c0:#6ea3ff;--c1:#f2a05f;--c2:#4fcf9a;--c3:#ec7fb0;--c4:#ab90f2;--c5:#d8b83a;
--c6:#56cbdf;--c7:#a3adba;
--m0:#4ba3f7;--m1:#b4481e;--m2:#e5cf4b;--m3:#fbaeff;--m4:#09816b;--m5:#8951af;--m6:#0aece3;
--m7:#d98b09;--m8:#23ba7d;--m9:#da76bb;--m10:#a689f1;--m11:#4369c5;--m12:#ae4273;--m13:#8be78f;
--m14:#ed756e;--m15:#9ca81f;--m16:#febe92;--m17:#95d7fe;--m18:#0db3c1;--m19:#8c6802;
--m20:#527e03;--m21:#feb8c1;--m22:#027b96;--m23:#c4c9fe}}
*{box-sizing:border-box}
body{margin:0 auto;padding:28px 20px 60px;max-width:1040px;background:var(--bg);color:var(--fg);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
h1{font-size:24px;margin:0 0 2px}h2{font-size:17px;margin:34px 0 8px}
p{margin:6px 0;color:var(--soft)}p.lead{margin-bottom:18px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(118px,1fr));gap:10px;margin:16px 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:10px 14px}
.card b{display:block;font-size:21px;font-weight:650;font-variant-numeric:tabular-nums}
.card span{color:var(--soft);font-size:13px}
svg{width:100%;height:auto;display:block;overflow:visible}
svg text{fill:var(--soft);font-size:11.5px;font-variant-numeric:tabular-nums}
.ty{text-anchor:end}.tx{text-anchor:middle}.unit{font-weight:600}
.grid{stroke:var(--line);stroke-width:1}.tick{stroke:var(--soft);stroke-width:1}
.line{fill:none;stroke-width:1.3;stroke-linejoin:round}.line.strong{stroke-width:1.9}
.line.dashed{stroke-dasharray:5 4}.band{opacity:.16}.area{opacity:.72}
line.mark{stroke:var(--fg);stroke-width:1;stroke-dasharray:2 3;opacity:.7}svg text.mark{fill:var(--fg)}
.bar{fill:var(--c0);opacity:.8}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;margin:2px 0 6px 56px;font-size:13px;color:var(--soft)}
.legend i{display:inline-block;width:14px;height:3px;border-radius:2px;margin-right:6px;vertical-align:middle}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:5px 10px;text-align:right;border-bottom:1px solid var(--line)}
td{white-space:nowrap}th{color:var(--soft);font-weight:600;font-size:13px}
th:first-child,td:first-child{text-align:left;padding-left:0}
.ok{color:var(--c2)}.bad{color:var(--c1);font-weight:600}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(320px,100%),1fr));gap:1.2rem 1rem}
figure{margin:0}figcaption{font-size:13px;color:var(--soft)}
.scroll{overflow-x:auto}.narrow{display:none}
@media(max-width:700px){body{padding:18px 12px 40px}.broad{display:none}.narrow{display:block}
.legend{margin-left:0}
.scroll table,.scroll tbody{display:block}.scroll tr:first-child{display:none}
.scroll tr{display:grid;grid-template-columns:1fr 1fr;gap:0 14px;padding:8px 0;
border-bottom:1px solid var(--line)}
.scroll td{display:flex;justify-content:space-between;gap:8px;padding:1px 0;border:0;
white-space:normal;overflow-wrap:anywhere}
.scroll td::before{content:attr(data-head);color:var(--soft)}
.scroll td:first-child{grid-column:1/-1;font-weight:600}.scroll td:first-child::before{content:none}}
)css";
  return kStyle;
}

std::string page(std::string_view title, std::string_view body, std::string_view head) {
  std::string out = "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport ";
  out +=
      "content=\"width=device-width,initial-scale=1\"><title>" + escaped(title) + "</title><style>";
  out += style();
  out += "</style>";
  out += head;
  out += "<body>";
  out += body;
  return out + "</body></html>\n";
}

}  // namespace laird::plot
