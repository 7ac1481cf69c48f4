import Coherence
import Foundation

/// The report at the end of a run, in lines.
@MainActor
package struct RunReport {
  private static let shownLimit = 12
  private let answers: GraphAnswers

  package init(_ stack: DemoStack) { answers = GraphAnswers(stack) }

  // MARK: Changed rows

  /// - Parameter edited: The names of the packages that this run edited at the service.
  package func changes(from before: RowVersions, to after: RowVersions, edited: [String]) throws -> [String] {
    let changes = before.changes(to: after)
    if before.isEmpty { return ["The store was empty; it has \(try contents()) now."] + fingerprint(after) }
    if changes.isEmpty {
      return ["Nothing changed: no row of \(try contents()) was written."] + fingerprint(after)
    }
    return try summary(changes, edited: edited) + fingerprint(after)
  }

  private func contents() throws -> String {
    "\(try answers.count(Package.self)) packages, \(try answers.count(Section.self)) sections and "
      + "\(try answers.count(Maintainer.self)) maintainers"
  }

  private func fingerprint(_ versions: RowVersions) -> [String] {
    ["The versions of all \(versions.count) rows have the fingerprint \(versions.fingerprint)."]
  }

  private func summary(_ changes: RowChanges, edited: [String]) throws -> [String] {
    var lines: [String] = []
    if !changes.inserted.isEmpty { lines.append("\(changes.inserted.count) rows are new.") }
    if !changes.deleted.isEmpty { lines.append("\(changes.deleted.count) rows were deleted.") }
    guard !changes.updated.isEmpty else { return lines }
    let packages = try answers.packages(changes.updated)
    let isExact = lines.isEmpty && packages.count == changes.updated.count && packages.map(\.name) == edited
    let count = changes.updated.count
    lines.append(
      isExact
        ? "Exactly the \(count) packages that were edited changed, and no other row:"
        : "\(count) rows changed to what the service says now:")
    lines += packages.prefix(Self.shownLimit).map { package in
      "  \(package.name): row version \(package.row.from) → \(package.row.to), “\(package.summary)”"
    }
    if count > Self.shownLimit { lines.append("  … and \(count - Self.shownLimit) more") }
    return lines
  }

  // MARK: Queries of the graph

  package func graph(needsOf name: String?) throws -> [String] {
    var lines: [String] = []
    if let most = try answers.mostNeeded() {
      lines.append("Most needed: \(most.name), by \(most.count) packages directly.")
    }
    let sections = try answers.largestSections(5).map { "\($0.name) \($0.count)" }.joined(separator: ", ")
    if !sections.isEmpty { lines.append("Largest sections: \(sections).") }
    let unneeded = try answers.largestUnneeded(above: 5 * 1024, limit: 3)
      .map { "\($0.name) \($0.count / 1024) MiB" }.joined(separator: ", ")
    lines.append("Above 5 MiB and needed by none: \(unneeded.isEmpty ? "none" : unneeded).")
    guard let name = try name ?? answers.mostNeedy()?.name else { return lines }
    return lines + (try needs(of: name))
  }

  private func needs(of name: String) throws -> [String] {
    guard let needs = try answers.needs(of: name) else {
      throw DemoError("There is no package '\(name)' in the store; give --needs the name of one that is served.")
    }
    var lines = ["\(name) needs \(needs.count) packages, in \(needs.levels.count) steps:"]
    for (index, level) in needs.levels.enumerated() {
      let more = level.count > 8 ? ", … (\(level.count))" : ""
      lines.append("  \(index + 1). \(level.prefix(8).joined(separator: ", "))\(more)")
    }
    return lines
  }

  // MARK: Records of the run

  package func pages() throws -> [String] {
    let pages = try answers.pages()
    guard let slowest = pages.first else { return [] }
    let kilobytes = pages.map(\.bytes).reduce(0, +) / 1024
    let time = pages.map(\.seconds).reduce(0, +)
    return [
      "Fetched \(pages.count) pages, \(kilobytes) KiB in \(String(format: "%.2f", time)) s; "
        + "the slowest was page \(slowest.page) with \(String(format: "%.0f", slowest.seconds * 1000)) ms."
    ]
  }
}
