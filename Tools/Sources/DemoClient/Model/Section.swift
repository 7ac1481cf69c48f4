import Coherence
import CoherenceModelMacros

/// The category of a package, such as "libs" or "editors".
@Entity package final class Section: ManagedObject {
  @Attribute(.unique) package var name: String
  package var packages: ToMany<Package>
}
