# SPDX-License-Identifier: GPL-2.0-only
# The credit of a cgroup over time, from the BALANCE lines of credit-balance.sh:
# sed -n 's/^BALANCE //p' KTAP >data
# gnuplot -e "data='data'; picture='credit.png'" credit.gnuplot
set terminal pngcairo size 1000,500 font "sans,11"
set termoption noenhanced
set output picture
set title "readahead_credit: workload A, then C, then A in one cgroup (Linux 6.18)"
set xlabel "seconds"
set ylabel "credit at hand, pages"
set y2label "refaults times 32, pages, in all"
set ytics nomirror
set y2tics
set grid xtics ytics
set yrange [0:*]
set y2range [0:*]
set key top left
plot data using ($1/1000):3 with lines lw 2 lc rgb "#4472a8" title "balance", \
     "" using ($1/1000):4 axes x1y2 with lines lc rgb "#c0504d" title "earned", \
     "" using ($1/1000):5 axes x1y2 with lines lc rgb "#70a040" title "spent"
