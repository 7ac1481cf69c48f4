/// A kind of change that a mutant makes. The raw value is its name in reports.
public enum MutationOperator: String, CaseIterable, Sendable {
  case negateCondition = "negates the condition"
  case ignoreGuard = "ignores the condition of the guard"
  case swapLogic = "swaps && and ||"
  case moveBoundary = "moves the boundary"
  case swapEquality = "swaps equal and different"
  case swapArithmetic = "swaps addition and subtraction"
  case replaceLiteral = "replaces the literal"
  case useDefault = "uses the default"
  case swapEnd = "takes the other end"
  case dropElement = "drops an element"
  case dropArgument = "drops a forwarded argument"
  case dropStatement = "drops the statement"
  case returnEarly = "returns early"
  case stopAfterFirst = "stops after the first round"
}
