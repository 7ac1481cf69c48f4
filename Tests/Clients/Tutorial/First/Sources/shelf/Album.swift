import Coherence
import CoherenceModelMacros

@Entity final class Album: ManagedObject {
  @Attribute(.unique) var code: String
  var title: String
  var year: Int?
}
