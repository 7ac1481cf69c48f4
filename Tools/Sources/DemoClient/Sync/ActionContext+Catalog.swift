import Coherence
import DemoService

extension ActionContext {
  /// Adds and updates packages, with their sections and maintainers. Dependencies stay unchanged, because they may lead
  /// to packages of later pages. Writes only differences, in one transaction.
  func mergePackages(_ records: [PackageRecord]) throws -> Changes {
    let options = MergeOptions(mode: .upsertOnly, saves: false)
    let sections = Set(records.map(\.section)).sorted().map(Section.record)
    let maintainers = Set(records.map(\.maintainer)).sorted { ($0.email, $0.name) < ($1.email, $1.name) }
    var changes = Changes()
    changes += try merge(records: sections, for: entity(for: Section.self), options: options)
    changes += try merge(
      records: maintainers.map(Maintainer.record), for: entity(for: Maintainer.self), options: options)
    changes += try merge(records: records.map(Package.record), for: entity(for: Package.self), options: options)
    try save()
    return changes
  }

  /// Links packages to the packages that they need, all of which must be in the store.
  func mergeDependencies(_ dependencies: [String: [String]]) throws -> Changes {
    let names = dependencies.keys.sorted()
    // One fetch loads the links of all packages; otherwise the merge would fetch them one by one.
    let packages = try fetch(
      FetchRequest(Package.self).filter { $0.name.isIn(names) }.prefetch(\.dependencies))
    let records = names.map { name in
      MergeRecord(["name": name], links: ["dependencies": .many(dependencies[name, default: []].map { MergeKey($0) })])
    }
    return try withExtendedLifetime(packages) {
      var changes = Changes()
      changes += try merge(
        records: records, for: entity(for: Package.self), options: MergeOptions(mode: .upsertOnly))
      return changes
    }
  }
}

extension Section {
  static func record(_ name: String) -> MergeRecord { MergeRecord(["name": name]) }
}

extension Maintainer {
  static func record(_ maintainer: MaintainerRecord) -> MergeRecord {
    MergeRecord(["email": maintainer.email, "name": maintainer.name])
  }
}

extension Package {
  static func record(_ package: PackageRecord) -> MergeRecord {
    MergeRecord(
      [
        "name": package.name, "softwareVersion": package.version, "architecture": package.architecture,
        "installedSize": package.installedSize, "summary": package.summary, "revision": package.revision,
      ],
      links: [
        "section": .one(MergeKey(package.section)),
        "maintainer": .one(MergeKey(package.maintainer.email, package.maintainer.name)),
      ])
  }
}
