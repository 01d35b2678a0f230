// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {Initializable} from "@openzeppelin/contracts/proxy/utils/Initializable.sol";
import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";

/// Holds the tokens of a cash-out until the payout is known.
///
///   None ──initiateOffRamp, by the depositor──▶ Pending ──confirmOffRampSettlement──▶ Settled (to treasury)
///                                                  └─────refundOffRamp──▶ Refunded (to depositor)
///
/// A reference is used once. A pause stops deposits and releases alike, as in the deployed contracts.
contract RampSettlement is Initializable, AccessControl, Pausable, ReentrancyGuard, UUPSUpgradeable {
    using SafeERC20 for IERC20;

    bytes32 public constant SETTLER_ROLE = keccak256("SETTLER_ROLE");
    bytes32 public constant MANAGER_ROLE = keccak256("MANAGER_ROLE");
    bytes32 public constant PAUSER_ROLE = keccak256("PAUSER_ROLE");
    bytes32 public constant UPGRADER_ROLE = keccak256("UPGRADER_ROLE");

    enum Status {
        None,
        Pending,
        Settled,
        Refunded,
        Recorded
    }

    struct OffRamp {
        address depositor;
        address token;
        uint256 amount;
        Status status;
        uint256 initiatedAt;
    }

    address public treasury;
    mapping(bytes32 referenceId => OffRamp) private offRamps;

    event OffRampInitiated(
        bytes32 indexed referenceId,
        address indexed depositor,
        address indexed token,
        uint256 amount,
        string providerRef
    );
    event OffRampSettled(bytes32 indexed referenceId, address token, uint256 amount);
    event OffRampRefunded(bytes32 indexed referenceId, address token, uint256 amount);

    error ReferenceAlreadyUsed(bytes32 referenceId);
    error InvalidStatus();
    error ZeroAmount();

    constructor() {
        _disableInitializers();
    }

    function initialize(address admin, address treasuryAddress) external initializer {
        treasury = treasuryAddress;
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(SETTLER_ROLE, admin);
        _grantRole(MANAGER_ROLE, admin);
        _grantRole(PAUSER_ROLE, admin);
        _grantRole(UPGRADER_ROLE, admin);
    }

    function initiateOffRamp(
        bytes32 referenceId,
        address token,
        uint256 amount,
        string calldata providerRef
    ) external whenNotPaused nonReentrant {
        if (amount == 0) revert ZeroAmount();
        if (offRamps[referenceId].status != Status.None) revert ReferenceAlreadyUsed(referenceId);
        offRamps[referenceId] = OffRamp(msg.sender, token, amount, Status.Pending, block.timestamp);
        IERC20(token).safeTransferFrom(msg.sender, address(this), amount);
        emit OffRampInitiated(referenceId, msg.sender, token, amount, providerRef);
    }

    function confirmOffRampSettlement(bytes32 referenceId) external onlyRole(SETTLER_ROLE) whenNotPaused nonReentrant {
        OffRamp storage offRamp = resolve(referenceId, Status.Settled);
        IERC20(offRamp.token).safeTransfer(treasury, offRamp.amount);
        emit OffRampSettled(referenceId, offRamp.token, offRamp.amount);
    }

    function refundOffRamp(bytes32 referenceId) external onlyRole(MANAGER_ROLE) whenNotPaused nonReentrant {
        OffRamp storage offRamp = resolve(referenceId, Status.Refunded);
        IERC20(offRamp.token).safeTransfer(offRamp.depositor, offRamp.amount);
        emit OffRampRefunded(referenceId, offRamp.token, offRamp.amount);
    }

    function getOffRamp(bytes32 referenceId) external view returns (OffRamp memory) {
        return offRamps[referenceId];
    }

    function pause() external onlyRole(PAUSER_ROLE) {
        _pause();
    }

    function unpause() external onlyRole(PAUSER_ROLE) {
        _unpause();
    }

    function resolve(bytes32 referenceId, Status status) private returns (OffRamp storage offRamp) {
        offRamp = offRamps[referenceId];
        if (offRamp.status != Status.Pending) revert InvalidStatus();
        offRamp.status = status;
    }

    function _authorizeUpgrade(address) internal override onlyRole(UPGRADER_ROLE) {}
}
