// The messages between the demo's server and its client, as JSON.

/// The maintainer of a package.
public struct MaintainerRecord: Codable, Sendable, Hashable {
  public var name: String
  public var email: String

  public init(name: String, email: String) {
    self.name = name
    self.email = email
  }
}

/// One package of a catalog.
public struct PackageRecord: Codable, Sendable, Hashable {
  /// The key: no two packages of a catalog share it.
  public var name: String
  public var version: String
  public var section: String
  public var architecture: String
  /// In KiB.
  public var installedSize: Int
  /// One line.
  public var summary: String
  public var maintainer: MaintainerRecord
  /// The names of the packages that this one needs. Every one of them is in the same catalog.
  public var depends: [String]
  /// The number of edits of this package.
  public var revision = 0

  public init(
    name: String, version: String, section: String, architecture: String, installedSize: Int, summary: String,
    maintainer: MaintainerRecord, depends: [String]
  ) {
    self.name = name
    self.version = version
    self.section = section
    self.architecture = architecture
    self.installedSize = installedSize
    self.summary = summary
    self.maintainer = maintainer
    self.depends = depends
  }
}

/// A page of the packages, which are sorted by name.
public struct PackagePage: Codable, Sendable, Equatable {
  /// The number of packages on all pages.
  public var total: Int
  /// The number of this page, from 1.
  public var page: Int
  public var pages: Int
  public var packages: [PackageRecord]

  public init(total: Int, page: Int, pages: Int, packages: [PackageRecord]) {
    self.total = total
    self.page = page
    self.pages = pages
    self.packages = packages
  }
}

/// A page of the maintainers, which are sorted by e-mail address, then by name.
public struct MaintainerPage: Codable, Sendable, Equatable {
  /// The number of maintainers on all pages.
  public var total: Int
  /// The number of this page, from 1.
  public var page: Int
  public var pages: Int
  public var maintainers: [MaintainerRecord]

  public init(total: Int, page: Int, pages: Int, maintainers: [MaintainerRecord]) {
    self.total = total
    self.page = page
    self.pages = pages
    self.maintainers = maintainers
  }
}

/// The names of all sections, sorted.
public struct SectionList: Codable, Sendable, Equatable {
  public var total: Int
  public var sections: [String]

  public init(sections: [String]) {
    self.total = sections.count
    self.sections = sections
  }
}

/// An edit of a package: present fields replace the package's fields.
public struct PackageEdit: Codable, Sendable, Equatable {
  public var version: String?
  public var section: String?
  public var summary: String?
  public var installedSize: Int?

  public init(version: String? = nil, section: String? = nil, summary: String? = nil, installedSize: Int? = nil) {
    self.version = version
    self.section = section
    self.summary = summary
    self.installedSize = installedSize
  }
}

/// The body of every response that refuses a request.
public struct ServiceProblem: Codable, Sendable, Equatable {
  /// A message that advises the user.
  public var message: String

  public init(message: String) {
    self.message = message
  }
}
