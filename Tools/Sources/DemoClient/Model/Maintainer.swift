import Coherence
import CoherenceModelMacros

/// A person or a group that maintains packages.
@Entity package final class Maintainer: ManagedObject {
  package var name: String
  package var email: String
  package var packages: ToMany<Package>

  // One person may look after packages under several names, and several people share the address of a list.
  #Unique<Maintainer>([\.email, \.name])
}
