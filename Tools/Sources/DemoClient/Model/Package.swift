import Coherence
import CoherenceModelMacros

/// A package of the catalog.
@Entity package final class Package: ManagedObject {
  @Attribute(.unique, .minimumLength(1)) package var name: String
  /// The version of the software, not of the record.
  @Attribute(formerNames: ["version"]) package var softwareVersion: String
  package var architecture: String
  /// In KiB.
  @Attribute(.indexed, .minimum(0)) package var installedSize = 0
  package var summary = ""
  /// The number of edits at the service.
  package var revision = 0
  @Relationship(inverse: \Section.packages) package var section: Section?
  @Relationship(inverse: \Maintainer.packages) package var maintainer: Maintainer?
  /// The packages that this package needs.
  @Relationship(inverse: \Package.dependents) package var dependencies: ToMany<Package>
  /// The packages that need this package.
  package var dependents: ToMany<Package>
}
