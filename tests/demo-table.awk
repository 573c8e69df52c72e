# SPDX-License-Identifier: GPL-2.0-only
# Lines of key=value in, a table out; with -v plot=1 the data for demo.gnuplot.
function ratio(v, base) {
	return base > 0 ? sprintf("%.2f", v / base) : (v > 0 ? "-" : "1.00")
}
{
	delete f
	for (i = 1; i <= NF; i++) {
		p = index($i, "=")
		f[substr($i, 1, p - 1)] = substr($i, p + 1)
	}
	g = f["series"] " " f["workload"] " " f["cgroup"]
	if (!(g in seen)) {
		seen[g] = ++groups
		group[groups] = g
	}
	if (!(f["policy"] in known)) {
		known[f["policy"]] = ++policies
		name[policies] = f["policy"]
	}
	major[g, f["policy"]] = f["pgmajfault"]
	refault[g, f["policy"]] = f["refault_file"]
	sys[g, f["policy"]] = f["sys_ms"]
}
END {
	order = "original set_active mark_accessed_v3 mark_accessed fault_youngest"
	n = split(order, policy, " ")
	if (plot) {
		for (j = 1; j <= groups; j++) {
			split(group[j], w, " ")
			printf "# Linux %s, workload %s, cgroup %s\n", w[1], w[2], w[3]
			for (i = 1; i <= n; i++)
				print policy[i], major[group[j], policy[i]], sys[group[j], policy[i]]
			print "\n"
		}
		exit
	}
	for (j = 1; j <= groups; j++) {
		g = group[j]
		split(g, w, " ")
		printf "\nLinux %s, workload %s, cgroup %s%s\n", w[1], w[2], w[3],
			w[2] == "C" ? " (switched while it ran)" : ""
		printf "%-17s %10s %13s %10s   %s\n", "policy", "refaults", "major faults",
			"sys ms", "major faults and sys time to original"
		for (i = 1; i <= n; i++)
			printf "%-17s %10d %13d %10d   %s  %s\n", policy[i],
				refault[g, policy[i]], major[g, policy[i]], sys[g, policy[i]],
				ratio(major[g, policy[i]], major[g, "original"]),
				ratio(sys[g, policy[i]], sys[g, "original"])
	}
	print ""
}
