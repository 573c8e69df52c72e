# SPDX-License-Identifier: GPL-2.0-only
# Major faults under each policy, a panel for each workload and cgroup.
# gnuplot -e "data='plot.dat'; picture='demo.png'" demo.gnuplot
set terminal pngcairo size 1200,900 font "sans,11"
set termoption noenhanced
set output picture
panels = int(system(sprintf("grep -c '^#' '%s'", data)))
set multiplot layout (panels + 1) / 2, 2 title "Major page faults under each policy (lower is better)"
set style data histogram
set style fill solid 0.8 border -1
set boxwidth 0.7
set grid ytics
set yrange [0:*]
set offsets graph 0, 0, graph 0.12, 0
set xtics rotate by -20
unset key
do for [i=0:panels-1] {
	set title system(sprintf("sed -n 's/^# //p' '%s' | sed -n %dp", data, i + 1))
	plot data index i using 2:xtic(1) linecolor rgb "#4472a8", \
	     "" index i using 0:2:2 with labels offset 0,0.6
}
unset multiplot
